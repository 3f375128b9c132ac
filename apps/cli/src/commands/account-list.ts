import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import { printAccounts } from '../account-object.ts';
import { Failure } from '../failure.ts';
import { optionalId } from '../ids.ts';
import type { Io } from '../io.ts';
import { LISTED_MAX, noteMore } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `account list`: shows a page of the accounts, newest first. */
export function addAccountList(account: Command, io: Io): void {
  account
    .command('list')
    .description(`the newest ${LISTED_MAX} accounts`)
    .option('--after <id>', 'only those older than this account')
    .action(async (options: { after?: string; json?: true }) => {
      const after = optionalId('account', options.after);
      await withDatabase(io, async ({ database }) => {
        const cursor = after === undefined ? null : ({ side: 'after', id: after } as const);
        const page = await createAccountStore(database, io.clock).list({ limit: LISTED_MAX, cursor });
        if (page === null) throw new Failure(`no account ${after}`);
        printAccounts(io, options.json, page.entries);
        noteMore(io, page.hasMore, page.entries.at(-1));
      });
    });
}
