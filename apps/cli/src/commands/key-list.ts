import { createApiKeyStore } from '@postrider/store';
import type { Command } from 'commander';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { keyObject } from '../key-object.ts';
import { printList } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'NAME', 'KIND', 'PER MINUTE', 'MADE', 'LAST USED', 'EXPIRES', 'REVOKED', 'SCOPES'];

/** `key list`: shows the keys of an account, newest first, including keys that are revoked or expired. */
export function addKeyList(key: Command, io: Io): void {
  key
    .command('list')
    .description("list an account's keys")
    .requiredOption('--account <id>', 'the account')
    .action(async (options: { account: string; json?: true }) => {
      const accountId = requireId('account', options.account);
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const keys = (await createApiKeyStore(database, io.clock).list(accountId)).map(keyObject);
        const rows = keys.map((one) => [
          one.id,
          one.name ?? '-',
          one.kind,
          String(one.rate_limit ?? 'KEY_RATE_LIMIT_PER_MINUTE'),
          one.created_at,
          one.last_used_at ?? '-',
          one.expires_at ?? '-',
          one.revoked_at ?? '-',
          one.scopes.join(','),
        ]);
        printList(io, options.json, keys, { head: HEAD, rows, none: 'no keys' });
      });
    });
}
