import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import { printAccounts } from '../account-object.ts';
import { UsageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { LISTED_MAX, note } from '../print.ts';
import { withDatabase } from '../session.ts';

/** An address has 320 characters at most: 64, `@` and 255 (RFC 5321 4.5.3.1). */
const TEXT_MAX_LENGTH = 320;

/** `account find`: finds an account by what support knows about it. */
export function addAccountFind(account: Command, io: Io): void {
  account
    .command('find')
    .description(`the ${LISTED_MAX} accounts that fit best`)
    .argument(
      '<text>',
      'a part of the name in any case, the id, a sending domain that was verified, or the address of an inbox',
    )
    .action(async (written: string, { json }: { json?: true }) => {
      const text = searchText(written);
      await withDatabase(io, async ({ database }) => {
        const found = await createAccountStore(database, io.clock).search(text, LISTED_MAX + 1);
        printAccounts(io, json, found.slice(0, LISTED_MAX));
        if (found.length > LISTED_MAX) note(io, 'postrider: there are more: write more of the name');
      });
    });
}

function searchText(written: string): string {
  const text = written.trim();
  // Postgres accepts every character except NUL.
  if (text === '' || text.length > TEXT_MAX_LENGTH || text.includes('\0')) {
    throw new UsageError(`a text to find has 1 to ${TEXT_MAX_LENGTH} characters, and no NUL`);
  }
  return text;
}
