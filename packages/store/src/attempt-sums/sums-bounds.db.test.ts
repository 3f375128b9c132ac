import { beforeAll, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { explained } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { readAttemptDays, readBusiestWebhooks } from './read-sums.ts';
import { createAttemptSums } from './sum-attempts.ts';
import { WEBHOOKS_PER_STEP } from './sql/sum-attempts.ts';
import { dropOldSums } from '../retention/housekeeping.ts';

/** Attempts of a busy webhook, one a second: 5 minutes of them are 300. */
const ATTEMPTS = 40_000;
const WEBHOOKS = 2_000;

const store = setupStore();
const webhookId = 'wh_1000' as WebhookId;

beforeAll(async () => {
  const { outside } = store;
  const accountId = await createRows(outside).account();
  await outside.query(
    `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed)
     select 'wh_' || n, $2, 'https://a.example/', '{}', 'k', '' from generate_series(1, $1::int) n`,
    [WEBHOOKS, accountId],
  );
  await outside.query(
    `do $$ begin
       for n in -7..31 loop
         execute format('create table attempts_of_%s partition of attempts for values from (%L) to (%L)',
                        n + 7, current_date - n, current_date - n + 1);
       end loop;
     end $$`,
  );
  await outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select now() - make_interval(secs => n), n, 'evt_1', $2, 1, 5, 200 from generate_series(1, $1::int) n`,
    [ATTEMPTS, webhookId],
  );
  for (const [table, seconds] of [
    ['minute', 60],
    ['hour', 3_600],
  ] as const) {
    await outside.query(
      `insert into attempts_by_${table}
       select 'wh_' || w, date_trunc('${table}', now()) - make_interval(secs => n * ${seconds}), 1, 1, '{1}', 5
       from generate_series(1, $1::int) w, generate_series(30, 50) n`,
      [WEBHOOKS],
    );
  }
  await outside.query(
    `insert into attempt_sums select true, t, t from date_trunc('minute', now() - interval '30 minutes') t`,
  );
});

/** Tables with one row. */
const SMALL = ['attempt_sums', 'pg_database'];

function expectBounded(seen: readonly ExplainedStatement[], rowsMax: number): void {
  expect(seen.flatMap(({ readWhole }) => readWhole).filter((table) => !SMALL.includes(table))).toEqual([]);
  expect(Math.max(...seen.map((statement) => statement.rowsMax))).toBeLessThanOrEqual(rowsMax);
}

test('a step reads its webhooks, and of the log only its minutes in one day', async () => {
  const seen = await explained(store.outside.url, async (pool) => {
    const sums = createAttemptSums(pool, { leaseSeconds: 30 });
    for (let steps = 0; steps < 5; steps += 1) await sums.step();
  });
  expectBounded(seen, WEBHOOKS_PER_STEP + 300);
  const days = new Set(
    seen.flatMap(({ pagesBy }) => Object.keys(pagesBy)).filter((name) => /^attempts_of/.test(name)),
  );
  expect(days.size).toBeLessThanOrEqual(2); // the minutes may include midnight
});

test('a page of 100 webhooks reads a row for each hour', async () => {
  const ids = Array.from({ length: 100 }, (_, n) => `wh_${n + 1}` as WebhookId);
  const seen = await explained(store.outside.url, (pool) => readAttemptDays(pool, ids, new Date()), 'once');
  expectBounded(seen, 100 * 24);
});

test('the busiest webhooks are read by the index of the minutes', async () => {
  await store.outside.query(
    `update attempt_sums set summed_until = date_trunc('minute', now() - interval '30 minutes')`,
  );
  const seen = await explained(
    store.outside.url,
    (pool) => readBusiestWebhooks(pool, { minutes: 5, limit: 20 }),
    'once',
  );
  expect(seen.some(({ pagesBy }) => 'attempts_by_minute_busiest' in pagesBy)).toBe(true);
  expectBounded(seen, 5 * 20 * 5);
});

test('retention goes in bounded steps', async () => {
  await store.outside.query(`update attempts_by_minute set begins_at = begins_at - interval '1 day'`);
  const seen = await explained(store.outside.url, (pool) => dropOldSums(pool, 1));
  expectBounded(seen, 5_000);
});
