import { beforeEach, expect, test } from '@jest/globals';
import { Semaphore } from '@postrider/limits';
import { createAttemptLog, createErasureStore, finishRemovals } from '@postrider/store';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { erasuresPass, housekeepingSteps, housekeepingPass, removalsPass } from './housekeeping.ts';

const HOUR_MS = 3_600_000;

const store = setupRelayStore();
let lines: LoggedLine[];

beforeEach(() => void (lines = []));

/** Today by Postgres's clock, in UTC. */
async function today(): Promise<unknown> {
  const [row] = await store.database.query(`select (now() at time zone 'utc')::date::text as today`);
  return row?.['today'];
}

test('each step runs, logs what it did, and repeats after an hour', async () => {
  await store.database.query(
    `insert into provider_notifications values ('sns-1', now() - interval '8 days')`,
  );
  const steps = housekeepingSteps({
    attemptLog: createAttemptLog(store.pool),
    attemptLogMutex: new Semaphore(1),
    pool: store.pool,
    config: { attemptRetentionDays: 30 },
  });
  const runAll = async () => {
    for (const step of steps) expect(await housekeepingPass(step, keepingLogger(lines))).toBe(HOUR_MS);
  };
  let day = await today();
  await runAll();
  const done = (fields: Record<string, unknown>) => ({ level: 'info', msg: 'housekeeping done', fields });
  expect(lines).toEqual([done({ days_made: expect.any(Array) }), done({ records_expired: 1 })]);
  expect(lines[0]?.fields['days_made']).toHaveLength(8);

  // If midnight came between, there was a day to make: run again.
  let before: unknown;
  do {
    lines = [];
    await runAll();
    [before, day] = [day, await today()];
  } while (before !== day);
  expect(lines).toEqual([]); // nothing to do, so no line
});

test('an interrupted DELETE is finished a minute later, and a running one is left alone', async () => {
  const [interrupted, running, active] = [
    await store.rows.webhook(),
    await store.rows.webhook(),
    await store.rows.webhook(),
  ];
  for (const id of [interrupted, running, active]) await store.rows.deliveries(id, { count: 2 });
  await store.rows.deadLetter(interrupted, await store.rows.event());
  const mark = `update webhooks set removed_at = now() - make_interval(secs => $2) where id = $1`;
  await store.database.query(mark, [interrupted, 61]);
  await store.database.query(mark, [running, 1]);
  const run = async () => removalsPass(() => finishRemovals(store.pool), keepingLogger(lines));
  expect(await run()).toBe(60_000);
  expect(await run()).toBe(60_000);
  expect(lines).toEqual([{ level: 'info', msg: 'removals finished', fields: { webhooks: 1 } }]);
  const left = async (sql: string) => (await store.database.query<{ id: string }>(sql)).map((row) => row.id);
  expect(await left('select id from webhooks order by id')).toEqual([running, active].sort());
  expect(await left('select distinct webhook_id as id from deliveries order by 1')).toEqual(
    [running, active].sort(),
  );
  expect(await left('select id from dead_letters')).toEqual([]);
});

test('a removal with rows left continues after a second; a failed one is logged', async () => {
  const webhookId = await store.rows.webhook();
  const error = new Error('not this one');
  const result = { removed: 0, unfinished: 1, failed: [{ webhookId, error }] };
  expect(await removalsPass(async () => result, keepingLogger(lines))).toBe(1_000);
  expect(lines).toEqual([{ level: 'warn', msg: 'removal failed', fields: { webhook_id: webhookId, error } }]);
});

test('an erasure that is finished is logged at once, also when the next one fails', async () => {
  const [first, second] = [await store.rows.account(), await store.rows.account()];
  await store.database.query(
    `insert into erasures (account_id, address, requested_at, due_at)
     select id, 'bob@b.example', now() - interval '1 hour', now() - case id when $1 then interval '1 hour' else '0' end
     from accounts`,
    [first],
  );
  const left = async () =>
    (await store.database.query<{ id: string }>('select account_id as id from erasures')).map(({ id }) => id);
  const connect = async () => {
    if (!(await left()).includes(first)) throw new Error('Postgres is away');
    return store.pool.connect();
  };
  const query = store.pool.query.bind(store.pool);
  const pool = { connect, query } as unknown as typeof store.pool;
  const run = async () => erasuresPass(createErasureStore(pool), keepingLogger(lines));
  expect(await run()).toBe(0);
  await expect(run()).rejects.toThrow('Postgres is away');
  expect(lines).toMatchObject([{ msg: 'person erased', fields: { account_id: first } }]);
  expect(await left()).toEqual([second]);
});
