import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { jsonOption, printList } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'MADE', 'NAME'];

/** `account list`: shows all accounts, newest first. */
export function addAccountList(account: Command, io: Io): void {
  account
    .command('list')
    .description('list all accounts')
    .addOption(jsonOption())
    .action(async ({ json }: { json?: true }) => {
      await withDatabase(io, async ({ database }) => {
        const accounts = (await createAccountStore(database, io.clock).list()).map(
          ({ id, name, createdAt }) => ({ id, name, created_at: createdAt.toISOString() }),
        );
        const rows = accounts.map((one) => [one.id, one.created_at, one.name]);
        printList(io, json, accounts, { head: HEAD, rows, none: 'no accounts' });
      });
    });
}
