import { createWebhookLookUps } from '@postrider/store';
import type { Command } from 'commander';
import { Failure } from '../failure.ts';
import { optionalId, requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { LISTED_MAX, noteMore, printList } from '../print.ts';
import { withDatabase } from '../session.ts';
import { webhookObject } from '../webhook-object.ts';

const HEAD = ['ID', 'MADE', 'FAILING SINCE', 'RULE', 'EVENTS', 'ENDPOINT'];

interface Options {
  readonly account: string;
  readonly after?: string;
  readonly json?: true;
}

/** `webhooks list`: shows a page of an account's webhooks, including those of routing rules, newest first. */
export function addWebhooksList(webhooks: Command, io: Io): void {
  webhooks
    .command('list')
    .description(`the newest ${LISTED_MAX} webhooks of an account, also those of routing rules`)
    .requiredOption('--account <id>', 'the account')
    .option('--after <id>', 'only those older than this webhook')
    .action(async (options: Options) => {
      const accountId = requireId('account', options.account);
      const after = optionalId('webhook', options.after);
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const cursor = after === undefined ? null : ({ side: 'after', id: after } as const);
        const page = await createWebhookLookUps(database).list(accountId, { limit: LISTED_MAX, cursor });
        if (page === null) throw new Failure(`no webhook ${after}`);
        const listed = page.entries.map(webhookObject);
        const rows = listed.map((one) => [
          one.id,
          one.created_at,
          one.failing_since ?? '-',
          one.rule_id ?? '-',
          one.events.join(',') || 'all',
          one.endpoint,
        ]);
        printList(io, options.json, listed, { head: HEAD, rows, none: 'no webhooks' });
        noteMore(io, page.hasMore, listed.at(-1));
      });
    });
}
