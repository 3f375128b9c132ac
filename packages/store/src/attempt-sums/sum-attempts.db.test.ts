import { beforeEach, describe, expect, test } from '@jest/globals';
import { DURATION_BOUNDS_MS } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { createAttemptSums } from './sum-attempts.ts';
import { WEBHOOKS_PER_STEP } from './sql/sum-attempts.ts';
import { dropOldSums } from '../retention/housekeeping.ts';

const store = setupStore();
let rows: Rows;
let webhookId: WebhookId;

beforeEach(async () => {
  rows = createRows(store.outside);
  await rows.clear();
  webhookId = await rows.webhook();
});

interface AttemptWish {
  readonly of?: WebhookId;
  readonly minutesAgo?: number;
  readonly status?: number | null;
  readonly durationMs?: number;
  readonly count?: number;
}

const INSERT = `
  insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
  select now() - make_interval(mins => $2), n, 'evt_1', $1, 1, $4, $3 from generate_series(1, $5::int) n`;

function valuesOf({
  of = webhookId,
  minutesAgo = 10,
  status = 200,
  durationMs = 50,
  count = 1,
}: AttemptWish) {
  return [of, minutesAgo, status, durationMs, count];
}

async function attempt(wish: AttemptWish = {}): Promise<void> {
  await store.outside.query(INSERT, valuesOf(wish));
}

const newSums = () => createAttemptSums(store.db.pool, { leaseSeconds: 30 });

/** Runs steps until the sums are current, as often as a relay needs that settles minutes. */
async function sumAll(sums = newSums()): Promise<void> {
  for (let rounds = 0; rounds < 3; rounds += 1) {
    while ((await sums.step()) === 'summed');
  }
}

/** The sums begin so many minutes ago, instead of a day. */
async function beginMinutesAgo(minutes: number): Promise<void> {
  await store.outside.query(
    `insert into attempt_sums (settled_until, summed_until)
     select t, t from date_trunc('minute', now() - make_interval(mins => $1)) t`,
    [minutes],
  );
}

async function sumsBy(table: 'attempts_by_hour' | 'attempts_by_minute', of = webhookId) {
  const [row] = await store.outside.query<{ attempts: number; successes: number; durations: number }>(
    `select coalesce(sum(attempts), 0)::int as attempts, coalesce(sum(successes), 0)::int as successes,
            coalesce(sum((select sum(n) from unnest(durations) n)), 0)::int as durations
     from ${table} where webhook_id = $1`,
    [of],
  );
  return row;
}

const counted = (attempts: number, successes = attempts) => ({ attempts, successes, durations: attempts });

async function settledMinutesAgo(): Promise<number> {
  const [row] = await store.outside.query<{ minutes: number }>(
    `select extract(epoch from now() - settled_until)::float8 / 60 as minutes from attempt_sums`,
  );
  return row?.minutes ?? NaN;
}

test('attempts of the last day are added up by minute and hour, 2xx apart, each once', async () => {
  await attempt({ minutesAgo: 23 * 60, count: 3 });
  await attempt({ minutesAgo: 90, status: 204, count: 5 });
  await attempt({ minutesAgo: 90, status: 503, count: 7 });
  await attempt({ minutesAgo: 90, status: null, count: 2 });
  await attempt({ minutesAgo: 2, status: 302 });
  await sumAll();
  expect(await sumsBy('attempts_by_hour')).toEqual(counted(18, 8));
  expect(await sumsBy('attempts_by_minute')).toEqual(counted(18, 8));
  const hours = await store.outside.query(
    `select distinct begins_at = date_trunc('hour', begins_at, 'utc') as "isHour" from attempts_by_hour`,
  );
  expect(hours).toEqual([{ isHour: true }]);
});

test('durations are counted in buckets, with the slowest', async () => {
  await beginMinutesAgo(15);
  for (const durationMs of [0, 4, 5, 212, 9_999, 10_000, 61_000]) await attempt({ durationMs });
  await sumAll();
  const [hour] = await store.outside.query<{ durations: number[]; slowest: number }>(
    'select durations, slowest_ms as slowest from attempts_by_hour',
  );
  const at = (ms: number) => DURATION_BOUNDS_MS.filter((bound) => bound <= ms).length;
  expect(hour?.slowest).toBe(61_000);
  expect(hour?.durations).toHaveLength(DURATION_BOUNDS_MS.length + 1);
  expect(hour?.durations[0]).toBe(2);
  for (const ms of [5, 212, 9_999, 10_000, 61_000]) expect(hour?.durations[at(ms)]).toBe(1);
});

test('an hour keeps its slowest attempt when later minutes are faster', async () => {
  await beginMinutesAgo(240);
  for (const durationMs of [900, 5]) await attempt({ minutesAgo: 150, durationMs });
  // A pass adds up five minutes: the faster attempt is in a later one.
  await store.outside.query(
    `update attempts set started_at = date_trunc('hour', (select min(started_at) from attempts), 'utc')
       + make_interval(mins => case duration_ms when 5 then 30 else 0 end)`,
  );
  await sumAll();
  expect(await store.outside.query('select attempts, slowest_ms from attempts_by_hour')).toEqual([
    { attempts: 2, slowest_ms: 900 },
  ]);
});

test('an attempt that is logged after its minute was added up is counted once, with the others', async () => {
  await beginMinutesAgo(4);
  const sums = newSums();
  await attempt({ minutesAgo: 2, count: 4 });
  await sumAll(sums);
  expect(await sumsBy('attempts_by_hour')).toEqual(counted(4));
  await attempt({ minutesAgo: 2, status: 500 });
  await store.outside.query(
    `update attempt_sums set settled_until = settled_until - interval '10 minutes', summed_until = summed_until - interval '10 minutes'`,
  ); // as if the minute settled now
  await sumAll(sums);
  expect(await sumsBy('attempts_by_hour')).toEqual(counted(5, 4));
  expect(await sumsBy('attempts_by_minute')).toEqual(counted(5, 4));
});

test('an attempt whose transaction stays open keeps its minute unsettled, and is counted after its commit', async () => {
  await beginMinutesAgo(15);
  const sums = newSums();
  const late = await store.db.pool.connect();
  try {
    await late.query('begin');
    await late.query(INSERT, valuesOf({ minutesAgo: 12, count: 3 }));
    await attempt({ minutesAgo: 12, count: 2 });
    await sumAll(sums);
    expect(await sumsBy('attempts_by_hour')).toEqual(counted(2));
    expect(await settledMinutesAgo()).toBeGreaterThan(13);
    await late.query('commit');
  } finally {
    late.release();
  }
  await sumAll(sums);
  expect(await sumsBy('attempts_by_hour')).toEqual(counted(5));
  expect(await settledMinutesAgo()).toBeLessThan(8);
});

test('other open transactions do not keep a minute unsettled', async () => {
  await beginMinutesAgo(15);
  const reader = await store.db.pool.connect();
  try {
    await reader.query('begin');
    await reader.query('select count(*) from attempts');
    await reader.query(`update webhooks set failing_since = now()`);
    await sumAll();
    expect(await settledMinutesAgo()).toBeLessThan(8);
  } finally {
    await reader.query('rollback');
    reader.release();
  }
});

test('a minute is not settled while a worker may still record an attempt that began in it', async () => {
  await beginMinutesAgo(15);
  await sumAll();
  const whenLeasesAreShort = await settledMinutesAgo();
  await store.outside.query('delete from attempt_sums');
  await beginMinutesAgo(15);
  await sumAll(createAttemptSums(store.db.pool, { leaseSeconds: 30 + 5 * 60 }));
  expect((await settledMinutesAgo()) - whenLeasesAreShort).toBeGreaterThan(4);
});

test('relays that run at once, and stop at any step, count each attempt once', async () => {
  await beginMinutesAgo(30);
  const webhooks = [webhookId];
  for (let n = 0; n < WEBHOOKS_PER_STEP + 50; n += 1) webhooks.push(await rows.webhook());
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select now() - make_interval(mins => n + 1), n, 'evt_1', w, 1, 5, 200
     from unnest($1::text[]) w, generate_series(1, 25) n`,
    [webhooks],
  );
  // Each "relay" ends after a few steps, and another one goes on.
  for (let lives = 0; lives < 12; lives += 1) {
    await Promise.all(
      [1, 2, 3].map(async () => {
        const sums = newSums();
        for (let n = 0; n < 2; n += 1) await sums.step();
      }),
    );
  }
  await sumAll();
  const of = await store.outside.query<{ attempts: number; webhooks: number }>(
    `select attempts, count(*)::int as webhooks
     from (select sum(attempts)::int as attempts from attempts_by_hour group by webhook_id) s group by 1`,
  );
  expect(of).toEqual([{ attempts: 25, webhooks: webhooks.length }]);
});

test('a step that is undone is repeated whole', async () => {
  await beginMinutesAgo(15);
  await attempt({ count: 3 });
  const sums = newSums();
  await store.outside.query(`alter table webhook_health add constraint broken check (webhook_id = '')`);
  await expect(sumAll(sums)).rejects.toThrow('broken');
  await store.outside.query('alter table webhook_health drop constraint broken');
  expect(await sumsBy('attempts_by_hour')).toEqual(counted(0));
  await sumAll(sums);
  expect(await sumsBy('attempts_by_hour')).toEqual(counted(3));
});

test('the times of the last success and the last failure are kept', async () => {
  await beginMinutesAgo(15);
  await attempt({ minutesAgo: 12 });
  await attempt({ minutesAgo: 11 });
  await attempt({ minutesAgo: 9, status: null });
  await sumAll();
  const ago = await store.outside.query(
    `select round(extract(epoch from now() - last_success_at) / 60)::int as success,
            round(extract(epoch from now() - last_failure_at) / 60)::int as failure
     from webhook_health where webhook_id = $1`,
    [webhookId],
  );
  expect(ago).toEqual([{ success: 11, failure: 9 }]);
});

test('a webhook that is being removed gets no sums', async () => {
  await beginMinutesAgo(15);
  await attempt();
  await store.outside.query('update webhooks set removed_at = now()');
  await sumAll();
  expect(await sumsBy('attempts_by_minute')).toEqual(counted(0));
  expect(await store.outside.query('select from webhook_health')).toEqual([]);
});

describe('the removal of a webhook', () => {
  const remove = async () => {
    const [webhook] = await store.outside.query<{ accountId: AccountId }>(
      'select account_id as "accountId" from webhooks where id = $1',
      [webhookId],
    );
    const webhooks = createWebhookStore(store.db, store.secrets, store.clock);
    expect(await webhooks.delete(webhook?.accountId as AccountId, webhookId, ACTOR)).toBe(true);
  };
  const TABLES = ['attempts_by_minute', 'attempts_by_hour', 'webhook_health'];
  const left = async () => {
    const found = await Promise.all(
      TABLES.map(async (table) => store.outside.query(`select distinct webhook_id as id from ${table}`)),
    );
    return found.flat();
  };

  test('deletes its sums, and no others', async () => {
    await beginMinutesAgo(15);
    const other = await rows.webhook();
    await attempt();
    await attempt({ of: other });
    await sumAll();
    await remove();
    expect(await left()).toEqual(TABLES.map(() => ({ id: other })));
  });

  test('waits for a step that adds up its attempts, and leaves none of it', async () => {
    await beginMinutesAgo(15);
    await attempt();
    const holder = await store.db.pool.connect();
    try {
      await holder.query('begin');
      await holder.query('insert into webhook_health (webhook_id) values ($1)', [webhookId]);
      const summing = sumAll(); // its step waits for that row, and holds the webhook
      await untilWaitingForLock(store.outside);
      const removal = remove();
      await untilWaitingForLock(store.outside, 2);
      await holder.query('rollback');
      await Promise.all([summing, removal]);
    } finally {
      holder.release();
    }
    expect(await left()).toEqual([]);
  });
});

test('retention deletes minutes after two hours and hours after their days, but no minute that is not settled', async () => {
  const insert = (table: string, age: string) =>
    store.outside.query(
      `insert into ${table} values ($1, date_trunc('minute', now() - interval '${age}'), 1, 1, '{}', 5)`,
      [webhookId],
    );
  await insert('attempts_by_minute', '1 hour 50 minutes');
  await insert('attempts_by_minute', '2 hours 10 minutes');
  await insert('attempts_by_minute', '3 hours 10 minutes');
  await insert('attempts_by_hour', '29 days');
  await insert('attempts_by_hour', '31 days');
  await beginMinutesAgo(180);
  expect(await dropOldSums(store.db.pool, 30)).toBe(2);
  await store.outside.query('update attempt_sums set settled_until = now()');
  expect(await dropOldSums(store.db.pool, 30)).toBe(1);
  expect(await store.outside.query('select from attempts_by_minute')).toHaveLength(1);
  expect(await store.outside.query('select from attempts_by_hour')).toHaveLength(1);
});
