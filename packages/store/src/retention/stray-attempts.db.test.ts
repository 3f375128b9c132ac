import { expect, test } from '@jest/globals';
import { awayFromNewHour } from '@postrider/testing';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { dropStrayAttempts } from './housekeeping.ts';

const store = setupStore();

test('attempts of days without a partition go past their days, in bounded steps', async () => {
  await awayFromNewHour();
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     select now() - make_interval(days => n % 40), n, 'evt_1', 'wh_1', 1, 5 from generate_series(1, 10000) n`,
  );
  const seen: ExplainedStatement[] = [];
  expect(await dropStrayAttempts(explainedPool(store.db.pool, seen), 30)).toBe(2_250);
  expect(seen.filter(({ readWhole, rowsMax }) => readWhole.length > 0 || rowsMax > 1_001)).toEqual([]);
  const [left] = await store.outside.query<{ oldest: number }>(
    `select extract(day from now() - min(started_at))::int as oldest from attempts`,
  );
  expect(left?.oldest).toBe(30);
  expect(await dropStrayAttempts(store.db.pool, 30)).toBe(0);
});
