import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { fakeClock } from '@postrider/testing';
import { newId } from '@postrider/domain';
import { setupStore } from '../../test/open-store.ts';

const store = setupStore();
const page = readFileSync(new URL('../../../../docs/upgrading.md', import.meta.url), 'utf8');
/** The blocks of SQL that its section about times tells an operator to run. */
const [find = '', repair = ''] = [
  ...page.slice(page.indexOf('## Times that were')).matchAll(/^```sql\n(.*?)^```$/gms),
].map(([, sql]) => sql ?? '');
/** The queries within its sentences. */
const queries = [...page.matchAll(/`(select [^`]+?)( \\gexec)?`/g)].map(([, sql]) => sql ?? '');

const MADE = new Date('2026-10-24T22:15:16.789Z');
const clock = fakeClock(MADE.toISOString());
/** As Prisma stored it on a Postgres in New York, and in Kolkata. */
const SHIFTS = ['4 hours', '-5.5 hours'];

interface Times {
  readonly table: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

async function times(): Promise<Times[]> {
  return store.outside.query(
    `select 'accounts' as "table", created_at as "createdAt", null as "revokedAt" from accounts
     union all select 'api_keys', created_at, revoked_at from api_keys
     union all select 'webhooks', created_at, null from webhooks
     union all select 'topics', created_at, null from topics
     union all select 'blocked_senders', created_at, null from blocked_senders
     order by 1, 2`,
  );
}

/** One row of each table, its times shifted; a webhook that was removed, too. */
async function storeRows(shift: string): Promise<void> {
  const query = store.outside.query.bind(store.outside);
  const at = `($1::timestamptz + '${shift}'::interval)`;
  const account = newId('account', clock);
  await query(`insert into accounts (id, name, created_at) values ($2, 'A', ${at})`, [MADE, account]);
  await query(
    `insert into api_keys (id, account_id, digest, kind, scopes, created_at, revoked_at)
     values ($2, $3, convert_to($2, 'utf8'), 'live', '{}', ${at}, ${at} + interval '1 day')`,
    [MADE, newId('apiKey', clock), account],
  );
  await query(
    `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed, created_at)
     values ($2, $3, 'https://a.example/', '{}', 'k', '\\x01', ${at})`,
    [MADE, newId('webhook', clock), account],
  );
  await query(
    `insert into topics (account_id, id, name, default_subscription, created_at) values ($3, $2, 'T', 'opt_in', ${at})`,
    [MADE, newId('topic', clock), account],
  );
  await query(`insert into blocked_senders values ($2, $3, 'a.example', ${at})`, [
    MADE,
    newId('blockedSender', clock),
    account,
  ]);
}

test('the SQL of docs/upgrading.md finds the times that were stored with an offset, and repairs them', async () => {
  for (const shift of SHIFTS) await storeRows(shift);
  await storeRows('90 seconds'); // no offset: it stays
  await store.outside.query(find.slice(0, find.indexOf("select 'accounts'")));
  const count = find.slice(find.indexOf(`select 'accounts'`));
  const tables = ['accounts', 'api_keys', 'webhooks', 'topics', 'blocked_senders'];
  expect(await store.outside.query(count)).toEqual(tables.map((table) => ({ table, shifted: '2' })));
  await store.outside.query(repair);
  expect(await store.outside.query(count)).toEqual(tables.map((table) => ({ table, shifted: '0' })));
  const dayAfter = (at: Date) => new Date(at.getTime() + 24 * 60 * 60 * 1000);
  const right = [MADE, MADE, new Date(MADE.getTime() + 90_000)];
  expect(await times()).toEqual(
    [...tables].sort().flatMap((table) =>
      right.map((createdAt) => ({
        table,
        createdAt,
        revokedAt: table === 'api_keys' ? dayAfter(createdAt) : null,
      })),
    ),
  );
});

test('the other queries of docs/upgrading.md fit the tables, and find a day of attempts that an old relay made', async () => {
  await store.outside.query('alter table attempts_default replica identity default');
  const found = [];
  for (const query of queries) found.push(await store.outside.query(query));
  const statement = { format: 'alter table attempts_default replica identity full' };
  expect(found).toEqual([[statement], [], [], [], []]);
});
