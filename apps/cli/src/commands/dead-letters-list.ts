import { LIMITS } from '@postrider/domain';
import { createDeadLetterStore } from '@postrider/store';
import type { DeadLetter } from '@postrider/store';
import type { Command } from 'commander';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { note, printJson, printLines, table } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'MADE', 'TYPE', 'REASON', 'ATTEMPTS', 'WEBHOOK', 'LAST ERROR'];

/** `dead-letters list`: as contract 4.4 lists them, the newest 100 of an account, or those of them of one webhook. */
export function addDeadLettersList(deadLetters: Command, io: Io): void {
  deadLetters
    .command('list')
    .description(`the newest ${LIMITS.deadLettersListed} dead letters of an account`)
    .requiredOption('--account <id>', 'the account')
    .option('--webhook <id>', 'of these, only those of this webhook')
    .option('--json', 'print one JSON document')
    .action(async (options: { account: string; webhook?: string; json?: true }) => {
      const accountId = requireId('account', options.account, 'an account');
      const webhookId =
        options.webhook === undefined ? null : requireId('webhook', options.webhook, 'a webhook');
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const newest = await createDeadLetterStore(database).list(accountId);
        const listed = newest.filter((letter) => webhookId === null || letter.webhookId === webhookId);
        if (options.json === true) printJson(io, { object: 'list', data: listed.map(deadLetterObject) });
        else printLines(io, listed.length === 0 ? ['no dead letters'] : table(HEAD, listed.map(rowOf)));
        if (newest.length === LIMITS.deadLettersListed) {
          note(io, `postrider: only the newest ${LIMITS.deadLettersListed} of the account were looked at`);
        }
      });
    });
}

/** Contract 2.4, and when it was made. */
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
