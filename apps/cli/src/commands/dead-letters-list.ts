import { LIMITS } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { createDeadLetterStore } from '@postrider/store';
import type { Database, DeadLetter, DeadLetterFilter } from '@postrider/store';
import type { Command } from 'commander';
import { reasonOption, sinceOption, typeOption, untilOption } from '../dead-letter-options.ts';
import { Failure, UsageError } from '../failure.ts';
import { optionalId, requireAccount, requireWebhook } from '../ids.ts';
import type { Io } from '../io.ts';
import { noteMore, printList } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'MADE', 'TYPE', 'REASON', 'ATTEMPTS', 'WEBHOOK', 'LAST ERROR'];

interface Options extends DeadLetterFilter {
  readonly account?: string;
  readonly webhook?: string;
  readonly after?: string;
  readonly json?: true;
}

/**
 * `dead-letters list`: shows the newest 100 dead letters that match the options, as contract 4.4 lists them.
 */
export function addDeadLettersList(deadLetters: Command, io: Io): void {
  deadLetters
    .command('list')
    .description(`the newest ${LIMITS.deadLettersListed} dead letters of an account`)
    .option('--account <id>', 'of this account; not needed with --webhook')
    .option('--webhook <id>', 'only those of this webhook')
    .addOption(typeOption())
    .addOption(reasonOption())
    .addOption(sinceOption('made'))
    .addOption(untilOption('made'))
    .option('--after <id>', 'only what is older than this dead letter')
    .action(async (options: Options) => {
      const account = optionalId('account', options.account);
      const { type, reason, since, until } = options;
      const webhookId = optionalId('webhook', options.webhook);
      const after = optionalId('deadLetter', options.after);
      const findAccount = accountFinder(account, webhookId);
      await withDatabase(io, async ({ database }) => {
        const accountId = await findAccount(database, io);
        const store = createDeadLetterStore(database);
        const page = await store.list(accountId, { type, reason, since, until, webhookId }, after);
        if (page === null) throw new Failure(`no dead letter ${after}`);
        const listed = page.entries;
        printList(io, options.json, listed.map(deadLetterObject), {
          head: HEAD,
          rows: listed.map(rowOf),
          none: 'no dead letters',
        });
        noteMore(io, page.hasMore, listed.at(-1));
      });
    });
}

/** Returns a function that finds the account, if need be by its webhook. @throws UsageError without either */
function accountFinder(
  account: AccountId | undefined,
  webhook: WebhookId | undefined,
): (database: Database, io: Io) => Promise<AccountId> {
  if (account !== undefined)
    return async (database, io) => {
      await requireAccount(database, io, account);
      if (webhook !== undefined) await requireWebhook(database, webhook, account);
      return account;
    };
  if (webhook === undefined) throw new UsageError('name --account or --webhook');
  return async (database) => (await requireWebhook(database, webhook)).accountId;
}

/** The fields of contract 2.4, and the time of creation. */
function deadLetterObject(letter: DeadLetter) {
  return {
    id: letter.id,
    webhook: letter.webhookId,
    event_id: letter.eventId,
    type: letter.type,
    attempts: letter.attempts,
    reason: letter.reason,
    last_error: letter.lastError,
    status_code: letter.statusCode,
    created_at: letter.createdAt.toISOString(),
  };
}

function rowOf(letter: DeadLetter): string[] {
  return [
    letter.id,
    letter.createdAt.toISOString(),
    letter.type,
    letter.reason,
    String(letter.attempts),
    letter.webhookId,
    letter.lastError,
  ];
}
