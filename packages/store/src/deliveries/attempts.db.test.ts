import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { createRows, systemClock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { migrate } from '../schema/migrate.ts';
import { createAttemptStore } from './attempts.ts';
import type { AttemptRequest } from './attempts.ts';

/** Two of one account: the busy one has many more attempts than are read. */
const BUSY_ATTEMPTS = 20_000;
const READ_MAX = 1_000;

const store = setupStore();
let rows: Rows;
let accountId: AccountId;
let busy: WebhookId;
let quiet: WebhookId;

beforeAll(async () => {
  rows = createRows(store.outside);
  accountId = await store.newAccount();
  [busy, quiet] = [await rows.webhook({ accountId }), await rows.webhook({ accountId })];
});

const log = (webhookId: WebhookId, eventId: string, count: number, day: string) =>
  store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     select $4::timestamptz + n * interval '1 ms', n, $2, $1, 1, 1 from generate_series(1, $3::int) n`,
    [webhookId, eventId, count, day],
  );

const addDay = (day: string, next: string) =>
  store.outside.query(
    `create table attempts_${day.replaceAll('-', '')} partition of attempts for values from ('${day}Z') to ('${next}Z')`,
  );

const indexes = (name: string) =>
  store.outside.query<{ name: string; valid: boolean; day: string }>(
    `select i.indexrelid::regclass::text as name, i.indisvalid as valid, i.indrelid::regclass::text as day
     from pg_index i
     where i.indexrelid = $1::regclass
        or i.indexrelid in (select inhrelid from pg_inherits where inhparent = $1::regclass)
     order by 3`,
    [name],
  );

test.each([
  ['attempts_of_webhook', 'alter table attempts drop column type'],
  ['attempts_of_event_at_webhook', 'create index attempts_of_event on attempts (event_id)'],
])(
  'the migration gives every day that is there the index %s, and later days take it over',
  async (name, before) => {
    const { outside } = store;
    await outside.query('drop table if exists attempts_20260301, attempts_20260302, attempts_20260303');
    await addDay('2026-03-01', '2026-03-02');
    await addDay('2026-03-02', '2026-03-03');
    await log(quiet, 'evt_1', 10, '2026-03-01T10:00:00Z');
    // As the release before had it.
    await outside.query(`drop index ${name}`);
    await outside.query(before);
    await outside.query('delete from _prisma_migrations where migration_name like $1', [`%\\_${name}`]);
    expect(await migrate(outside.url)).toEqual([expect.stringMatching(`^[0-9]+_${name}$`)]);
    await addDay('2026-03-03', '2026-03-04');
    expect(await indexes(name)).toEqual([
      { name, valid: true, day: 'attempts' },
      ...['20260301', '20260302', '20260303', 'default'].map((day) => ({
        name: expect.stringMatching(new RegExp(`^attempts_${day}_`)),
        valid: true,
        day: `attempts_${day}`,
      })),
    ]);
  },
);

describe('a page of a webhook’s attempts', () => {
  async function rowsRead(): Promise<number> {
    await store.db.pool.query('select pg_stat_force_next_flush()');
    const [counted] = await store.outside.query<{ n: number }>(
      `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n from pg_stat_user_tables
       where relname like 'attempts%'`,
    );
    return counted?.n ?? NaN;
  }

  const some = newId('event', systemClock);

  test.each([
    ['is read in time', (): AttemptRequest => ({ webhookId: busy, limit: 20 })],
    ['of a quiet one is read in time', (): AttemptRequest => ({ webhookId: quiet, limit: 20 })],
    ['of one event is read by that', (): AttemptRequest => ({ webhookId: busy, eventId: some, limit: 20 })],
  ])('%s: it costs no more however long the log is', async (_, requestOf) => {
    const attempts = createAttemptStore(store.db);
    await attempts.list(accountId, requestOf());
    await log(busy, newId('event', store.clock), BUSY_ATTEMPTS, '2026-03-02T10:00:00Z');
    await log(quiet, newId('event', store.clock), 3, '2026-03-02T01:00:00Z');
    await log(busy, some, 3, '2026-03-01T01:00:00Z');
    const before = await rowsRead();
    const page = await attempts.list(accountId, requestOf());
    const last = page?.entries.at(-1);
    const second = await attempts.list(accountId, { ...requestOf(), after: last?.cursor });
    expect([page, second]).not.toContain(null);
    expect((await rowsRead()) - before).toBeLessThan(READ_MAX);
  });
});
