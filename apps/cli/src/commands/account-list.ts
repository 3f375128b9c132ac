import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { printJson, printLines, table } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'MADE', 'NAME'];

/** `account list`: shows all accounts, newest first. */
export function addAccountList(account: Command, io: Io): void {
  account
    .command('list')
    .description('list all accounts')
    .option('--json', 'print one JSON document')
    .action(async ({ json }: { json?: true }) => {
      await withDatabase(io, async ({ database }) => {
        const accounts = (await createAccountStore(database, io.clock).list()).map(
          ({ id, name, createdAt }) => ({ id, name, created_at: createdAt.toISOString() }),
        );
        if (json === true) printJson(io, { object: 'list', data: accounts });
        else if (accounts.length === 0) printLines(io, ['no accounts']);
        else
          printLines(
            io,
            table(
              HEAD,
              accounts.map((one) => [one.id, one.created_at, one.name]),
            ),
          );
      });
    });
}
