import { beforeEach, describe, expect, test } from '@jest/globals';
import { DURATION_BOUNDS_MS } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { readAttemptDays, readBusiestWebhooks, readLastMinuteOf } from './read-sums.ts';

const NOW = new Date('2026-11-26T07:12:40Z');

const store = setupStore();
let rows: Rows;
let webhookId: WebhookId;

beforeEach(async () => {
  rows = createRows(store.outside);
  await rows.clear();
  webhookId = await rows.webhook();
});

interface SumWish {
  readonly of?: WebhookId;
  readonly at: string;
  readonly attempts: number;
  readonly failures?: number;
  /** The duration of each attempt. */
  readonly durationMs?: number;
}

async function sum(table: 'hour' | 'minute', wish: SumWish): Promise<void> {
  const { of = webhookId, at, attempts, failures = 0, durationMs = 100 } = wish;
  const bucket = DURATION_BOUNDS_MS.filter((bound) => bound <= durationMs).length;
  const durations = DURATION_BOUNDS_MS.concat(Infinity).map((_, n) => (n === bucket ? attempts : 0));
  await store.outside.query(`insert into attempts_by_${table} values ($1, $2, $3, $4, $5, $6)`, [
    of,
    at,
    attempts,
    attempts - failures,
    durations,
    durationMs,
  ]);
}

const NOTHING = { attempts: 0, successes: 0, p95Ms: null };

describe('the last day of a webhook', () => {
  test('has 24 hours, the oldest first, and their sum', async () => {
    await sum('hour', { at: '2026-11-26T07:00:00Z', attempts: 10, failures: 4, durationMs: 212 });
    await sum('hour', { at: '2026-11-26T05:00:00Z', attempts: 500, durationMs: 84 });
    await sum('hour', { at: '2026-11-25T08:00:00Z', attempts: 7, failures: 7, durationMs: 10_000 });
    await sum('hour', { at: '2026-11-25T07:00:00Z', attempts: 9 }); // more than a day ago
    await sum('hour', { of: await rows.webhook(), at: '2026-11-26T07:00:00Z', attempts: 3 });
    const day = (await readAttemptDays(store.db.pool, [webhookId], NOW)).get(webhookId);
    expect(day).toMatchObject({ attempts: 517, successes: 506 });
    expect(day?.p95Ms).toBeGreaterThan(79);
    expect(day?.p95Ms).toBeLessThanOrEqual(120);
    expect(day?.hours).toHaveLength(24);
    expect(day?.hours[0]).toEqual({
      beginsAt: new Date('2026-11-25T08:00:00Z'),
      attempts: 7,
      successes: 0,
      p95Ms: 10_000,
    });
    expect(day?.hours[1]).toEqual({ beginsAt: new Date('2026-11-25T09:00:00Z'), ...NOTHING });
    expect(day?.hours[21]).toMatchObject({ attempts: 500, successes: 500 });
    expect(day?.hours[23]).toMatchObject({ attempts: 10, successes: 6 });
  });

  test('is empty without attempts', async () => {
    const days = await readAttemptDays(store.db.pool, [webhookId], NOW);
    expect(days.get(webhookId)).toMatchObject(NOTHING);
  });
});

describe('the busiest webhooks', () => {
  beforeEach(async () => {
    await store.outside.query(`insert into attempt_sums values (default, $1, $1)`, ['2026-11-26T07:12:00Z']);
  });

  test('of the last whole minutes come first, with account, endpoint and state', async () => {
    const accountId = await rows.account();
    const failing = await rows.webhook({ accountId, failing: true });
    await sum('minute', { at: '2026-11-26T07:11:00Z', attempts: 5 });
    await sum('minute', { at: '2026-11-26T07:07:00Z', attempts: 6, failures: 1 });
    await sum('minute', { of: failing, at: '2026-11-26T07:10:00Z', attempts: 40, failures: 40 });
    await sum('minute', { at: '2026-11-26T07:06:00Z', attempts: 1_000 }); // six minutes ago
    await sum('minute', { at: '2026-11-26T07:12:00Z', attempts: 1_000 }); // this minute is not over
    const { until, webhooks } = await readBusiestWebhooks(store.db.pool, { minutes: 5, limit: 10 });
    expect(until).toEqual(new Date('2026-11-26T07:12:00Z'));
    expect(webhooks).toMatchObject([
      {
        webhookId: failing,
        accountId,
        endpoint: 'https://hooks.example/in',
        failingSince: expect.any(Date),
        attempts: 40,
        successes: 0,
      },
      { webhookId, failingSince: null, attempts: 11, successes: 10 },
    ]);
  });

  test('are as many as asked for, and no removed one', async () => {
    const others = [await rows.webhook(), await rows.webhook()];
    await sum('minute', { of: others[0] as WebhookId, at: '2026-11-26T07:11:00Z', attempts: 2 });
    await sum('minute', { of: others[1] as WebhookId, at: '2026-11-26T07:11:00Z', attempts: 3 });
    await sum('minute', { at: '2026-11-26T07:11:00Z', attempts: 4 });
    const read = async (limit: number) =>
      (await readBusiestWebhooks(store.db.pool, { minutes: 5, limit })).webhooks.map(
        (each) => each.webhookId,
      );
    expect(await read(2)).toEqual([webhookId, others[1]]);
    await store.outside.query('update webhooks set removed_at = now() where id = $1', [webhookId]);
    expect(await read(3)).toEqual([others[1], others[0]]);
  });

  test('are none before a relay has added up', async () => {
    await store.outside.query('delete from attempt_sums');
    expect(await readBusiestWebhooks(store.db.pool, { minutes: 5, limit: 10 })).toEqual({
      until: null,
      webhooks: [],
    });
  });
});

test('an account’s last minute has the attempts of all its webhooks, and no others', async () => {
  const accountId = await rows.account();
  const [one, two, removed] = [
    await rows.webhook({ accountId }),
    await rows.webhook({ accountId }),
    await rows.webhook({ accountId }),
  ];
  expect(await readLastMinuteOf(store.db.pool, accountId)).toBe(0);
  await store.outside.query(
    `insert into attempt_sums values (true, '2026-11-26T07:00:00Z', '2026-11-26T07:12:00Z')`,
  );
  await store.outside.query('update webhooks set removed_at = now() where id = $1', [removed]);
  for (const [of, attempts] of [
    [one, 30],
    [two, 4],
    [removed, 500],
    [webhookId, 600],
  ] as const)
    await sum('minute', { of, at: '2026-11-26T07:11:00Z', attempts });
  await sum('minute', { of: one, at: '2026-11-26T07:10:00Z', attempts: 7_000 });
  expect(await readLastMinuteOf(store.db.pool, accountId)).toBe(34);
});
