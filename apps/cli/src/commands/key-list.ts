import { createApiKeyStore } from '@postrider/store';
import type { Command } from 'commander';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { keyObject } from '../key-object.ts';
import { printJson, printLines, table } from '../print.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'KIND', 'PER MINUTE', 'MADE', 'REVOKED', 'SCOPES'];

/** `key list`: shows the keys of an account, newest first, including revoked keys. */
export function addKeyList(key: Command, io: Io): void {
  key
    .command('list')
    .description("list an account's keys")
    .requiredOption('--account <id>', 'the account')
    .option('--json', 'print one JSON document')
    .action(async (options: { account: string; json?: true }) => {
      const accountId = requireId('account', options.account, 'an account');
      await withDatabase(io, async ({ config, database }) => {
        await requireAccount(database, io, accountId);
        const keys = (await createApiKeyStore(database, io.clock).list(accountId)).map(keyObject);
        if (options.json === true) {
          printJson(io, { object: 'list', data: keys });
          return;
        }
        const rows = keys.map((one) => [
          one.id,
          one.kind,
          String(one.rate_limit ?? config.keyRateLimitPerMinute),
          one.created_at,
          one.revoked_at ?? '-',
          one.scopes.join(','),
        ]);
        printLines(io, rows.length === 0 ? ['no keys'] : table(HEAD, rows));
      });
    });
}
