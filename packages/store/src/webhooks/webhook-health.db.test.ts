import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { createAttemptSums } from '../attempt-sums/sum-attempts.ts';
import { readFailingWebhooks } from './failing-webhooks.ts';
import { IN_FLIGHT_COUNTED_MAX, readInFlight } from './in-flight.ts';
import { readWebhookHealth } from './webhook-health.ts';

const store = setupStore();
let rows: Rows;
let webhookId: WebhookId;

beforeAll(() => void (rows = createRows(store.outside)));
beforeEach(async () => {
  await rows.clear();
  webhookId = await rows.webhook();
});

interface AttemptWish {
  readonly of?: WebhookId;
  readonly secondsAgo: number;
  readonly error?: string;
  readonly status?: number | null;
}

/** @returns when it started */
async function attempt({ of = webhookId, secondsAgo, error, status = 200 }: AttemptWish): Promise<Date> {
  const [row] = await store.outside.query<{ at: Date }>(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
     values (date_trunc('milliseconds', now() - make_interval(secs => $2)), 1, 'evt_1', $1, 1, 5, $3, $4)
     returning started_at as at`,
    [of, secondsAgo, status, error ?? null],
  );
  return row?.at as Date;
}

const health = async () => (await readWebhookHealth(store.db, [webhookId])).get(webhookId);

const NONE = {
  failingSince: null,
  lastSuccessAt: null,
  lastAttemptAt: null,
  lastError: null,
  outstanding: 0,
  oldestDueAt: null,
  deadLetters: 0,
  deadLettersDropped: 0,
};

/** The sums of the last hour. */
async function sumAll(): Promise<void> {
  await store.outside.query(
    `insert into attempt_sums select true, t, t from date_trunc('minute', now() - interval '1 hour') t
     on conflict (single) do update set settled_until = excluded.settled_until, summed_until = excluded.summed_until`,
  );
  const sums = createAttemptSums(store.db.pool, { leaseSeconds: 30 });
  for (let rounds = 0; rounds < 3; rounds += 1) while ((await sums.step()) === 'summed');
}

describe('the health of a webhook', () => {
  test('of a new one is empty, and one that is missing has none', async () => {
    expect(await health()).toEqual({ webhookId, ...NONE });
    const missing = newId('webhook', store.clock);
    expect(await readWebhookHealth(store.db, [missing])).toEqual(new Map());
    expect(await readWebhookHealth(store.db, [])).toEqual(new Map());
  });

  test('counts its own deliveries and dead letters', async () => {
    const other = await rows.webhook();
    await rows.deliveries(webhookId, { count: 3 });
    await rows.deliveries(other, { count: 5 });
    await rows.deadLetter(webhookId, await rows.event());
    for (let n = 0; n < 2; n += 1) await rows.deadLetter(other, await rows.event());
    expect(await health()).toMatchObject({ outstanding: 3, deadLetters: 1 });
  });

  test('shows since when the oldest delivery is due, and leaves out those that are due later', async () => {
    await rows.deliveries(webhookId, { dueInMs: 3_600_000 });
    await rows.deliveries(await rows.webhook(), { dueInMs: -60_000 });
    expect(await health()).toMatchObject({ outstanding: 1, oldestDueAt: null });
    for (const dueInMs of [-10_000, -20_000]) await rows.deliveries(webhookId, { dueInMs });
    const [oldest] = await store.outside.query<{ at: Date }>(
      'select min(due_at) as at from deliveries where webhook_id = $1',
      [webhookId],
    );
    expect(await health()).toMatchObject({ outstanding: 3, oldestDueAt: oldest?.at });
  });

  test('shows the last success and the last error of the log, before they are in the sums', async () => {
    await attempt({ secondsAgo: 50, status: 503, error: 'HTTP 503' });
    await attempt({ secondsAgo: 40, status: null, error: 'timeout after 10000 ms' });
    await attempt({ secondsAgo: 30 });
    const last = await attempt({ secondsAgo: 20, status: 204 });
    await attempt({ of: await rows.webhook(), secondsAgo: 1 });
    await attempt({ of: await rows.webhook(), secondsAgo: 1, status: 500, error: 'HTTP 500' });
    const error = 'timeout after 10000 ms';
    expect(await health()).toMatchObject({ lastSuccessAt: last, lastAttemptAt: last, lastError: error });
    const failed = await attempt({ secondsAgo: 10, status: 503, error: 'HTTP 503' });
    expect(await health()).toMatchObject({ lastSuccessAt: last, lastAttemptAt: failed });
  });

  test('shows them from the sums, when many attempts came since', async () => {
    const success = await attempt({ secondsAgo: 1_500 });
    const refused = await attempt({ secondsAgo: 1_400, status: 410, error: 'HTTP 410' });
    await sumAll();
    await store.outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
       select now() - make_interval(secs => 0.01 * n), n, 'evt_1', $1, 1, 5, 503, 'HTTP 503' from generate_series(1, 100) n`,
      [webhookId],
    );
    expect(await health()).toMatchObject({ lastSuccessAt: success, lastError: 'HTTP 503' });
    await store.outside.query(`update attempts set status = 200, error = null where status = 503`);
    expect(await health()).toMatchObject({ lastError: 'HTTP 410' });
    await store.outside.query(`delete from attempts where error is null`);
    expect(await health()).toMatchObject({ lastAttemptAt: refused });
  });

  test('shows the error of a refused delivery, which made no attempt', async () => {
    await attempt({ secondsAgo: 5, status: 503, error: 'HTTP 503' });
    const letter = await rows.deadLetter(webhookId, await rows.event());
    await store.outside.query(
      `update dead_letters set last_error = 'refused: a private address' where id = $1`,
      [letter],
    );
    expect(await health()).toMatchObject({ lastError: 'refused: a private address' });
    await store.outside.query(`update dead_letters set created_at = now() - interval '1 hour'`);
    expect(await health()).toMatchObject({ lastError: 'HTTP 503' });
  });

  test('says since when it fails', async () => {
    await store.outside.query(`update webhooks set failing_since = '2026-11-26T05:41:12Z' where id = $1`, [
      webhookId,
    ]);
    expect(await health()).toMatchObject({ failingSince: new Date('2026-11-26T05:41:12Z') });
  });
});

describe('attempts in flight', () => {
  /** Workers take the oldest ones. */
  async function take(of: WebhookId, count: number, { leaseEndsInSeconds = 30 } = {}): Promise<void> {
    await store.outside.query(
      `update deliveries set taken_at = now(), leased_until = now() + make_interval(secs => $3)
       where id = any (array(select id from deliveries where webhook_id = $1 order by due_at, id limit $2))`,
      [of, count, leaseEndsInSeconds],
    );
  }

  test('are the deliveries of the webhook that a worker has, and no others', async () => {
    const other = await rows.webhook();
    for (const id of [webhookId, other]) await rows.deliveries(id, { count: 7 });
    expect(await readInFlight(store.db, webhookId)).toBe(0);
    await take(webhookId, 3);
    await take(other, 5);
    expect([await readInFlight(store.db, webhookId), await readInFlight(store.db, other)]).toEqual([3, 5]);
    await take(webhookId, 1, { leaseEndsInSeconds: -1 });
    expect(await readInFlight(store.db, webhookId)).toBe(2);
  });

  test('are not those that the relay has leased ahead, and no worker has taken', async () => {
    await rows.deliveries(webhookId, { count: 2 });
    await store.outside.query(`update deliveries set leased_until = now() + interval '1 minute'`);
    expect(await readInFlight(store.db, webhookId)).toBe(0);
  });

  test('are counted up to a maximum', async () => {
    await rows.deliveries(webhookId, { count: IN_FLIGHT_COUNTED_MAX + 5 });
    await take(webhookId, IN_FLIGHT_COUNTED_MAX + 5);
    expect(await readInFlight(store.db, webhookId)).toBe(IN_FLIGHT_COUNTED_MAX);
  });
});

describe('the bounds', () => {
  const BACKLOG = 30_000;

  /** Webhooks of one account, the first with a long outage behind it. */
  async function webhooksWithBacklog(count: number): Promise<WebhookId[]> {
    const accountId: AccountId = await rows.account();
    const ids: WebhookId[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await rows.webhook({ accountId }));
    await store.outside.query(
      `insert into deliveries (event_id, webhook_id) select 'evt_' || n, $1 from generate_series(1, $2::int) n`,
      [ids[0], BACKLOG],
    );
    await store.outside.query(
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error)
       select 'dl_' || n, $3, $1, 'evt_' || n, 'email.sent', now(), '{}', 8, 'rejected', 'x' from generate_series(1, $2::int) n`,
      [ids[0], BACKLOG, accountId],
    );
    await store.outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
       select now() - make_interval(secs => n), n, 'evt_' || n, $1, 1, 5, 503, 'HTTP 503' from generate_series(1, $2::int) n`,
      [ids[0], BACKLOG],
    );
    return ids;
  }

  async function explained(ids: readonly WebhookId[]) {
    const seen: ExplainedStatement[] = [];
    const healths = await readWebhookHealth({ pool: explainedPool(store.db.pool, seen) }, ids);
    return { seen, first: healths.get(ids[0] as WebhookId) };
  }

  test.each([
    [1, 5_000],
    [100, 250],
  ])('of %d webhooks, counts end at %d, and no table is read whole', async (count, countedMax) => {
    const ids = await webhooksWithBacklog(count);
    await sumAll();
    const { seen, first } = await explained(ids);
    expect(first).toMatchObject({ outstanding: countedMax, deadLetters: countedMax });
    expect(seen.flatMap(({ readWhole }) => readWhole).filter((table) => table !== 'attempt_sums')).toEqual(
      [],
    );
    expect(Math.max(...seen.map(({ rowsMax }) => rowsMax))).toBeLessThanOrEqual(countedMax);
  });

  test('failing webhooks are found by their index, the longest failure first, as many as asked for', async () => {
    await store.outside.query(
      `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed, failing_since)
       select 'wh_' || lpad(n::text, 4, '0'), $1, 'https://a.example/', '{}', 'k', '',
              case when n % 100 = 0 then now() - make_interval(secs => n) end
       from generate_series(1, 5000) n`,
      [await rows.account()],
    );
    const seen: ExplainedStatement[] = [];
    const found = await readFailingWebhooks(explainedPool(store.db.pool, seen), 2);
    expect(found.map((webhook) => webhook.webhookId)).toEqual(['wh_5000', 'wh_4900']);
    expect(seen[0]?.rowsMax).toBeLessThanOrEqual(2);
  });
});
