import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { createDeliveryTimetable } from './delivery-timetable.ts';
import type { DeliveryTimetable, WalkedWebhook, WalkLimits } from './delivery-timetable.ts';
import { createPool } from './pool.ts';

const LIMITS: WalkLimits = { lookAheadSeconds: 60, stuckAfterSeconds: 1 };

let database: TestDatabase;
let rows: Rows;
let pool: Pool;
let timetable: DeliveryTimetable;

beforeAll(async () => {
  database = await createTestDatabase();
  rows = createRows(database);
  pool = createPool({
    databaseUrl: database.url,
    size: 2,
    applicationName: 'walk-test',
    durableCommits: false,
    onError: () => undefined,
  });
  timetable = createDeliveryTimetable(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(() => rows.clear());

async function walkOnce(): Promise<readonly WalkedWebhook[]> {
  return (await timetable.walk('', 10, LIMITS)).webhooks;
}

/** @returns the webhooks that each step found */
async function walkAll(perStep: number): Promise<WebhookId[][]> {
  const steps: WebhookId[][] = [];
  for (let next: string | null = ''; next !== null;) {
    const { webhooks, cursor } = await timetable.walk(next, perStep, LIMITS);
    steps.push(webhooks.map(({ webhookId }) => webhookId));
    next = cursor;
  }
  return steps;
}

describe('the walk', () => {
  test('finds every webhook with work, in order, in steps, whatever the backlog behind each', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 25; n += 1) webhooks.push(await rows.webhook());
    await rows.webhook(); // has nothing to do
    for (const [n, id] of webhooks.entries())
      await rows.deliveries(id, { count: n === 7 ? 5000 : 1 + (n % 3) });
    expect(await walkAll(10)).toEqual([10, 10, 5].map((count) => webhooks.sort().splice(0, count)));
  });

  test('ends with a step that finds nothing where there is nothing after a whole one', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    expect(await walkAll(1)).toEqual([[webhookId], []]);
  });

  test('tells of those only whose first row is due within the look-ahead, and walks on over the others', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 3; n += 1) webhooks.push(await rows.webhook());
    for (const id of webhooks) await rows.deliveries(id, { dueInMs: 70_000, count: 3 });
    const [due, soon] = [await rows.webhook(), await rows.webhook()];
    await rows.deliveries(due);
    for (const id of [due, soon]) await rows.deliveries(id, { dueInMs: 1_900_000 });
    await rows.deliveries(soon, { dueInMs: 50_000 });
    for (const perStep of [1, 2, 10]) {
      const steps = await walkAll(perStep);
      expect(steps.flat()).toEqual([due, soon].sort());
      expect(steps).toHaveLength(Math.floor(5 / perStep) + 1);
    }
  });

  test('says of each whether its first row is in somebody’s hands', async () => {
    const [held, lapsed, free] = [await rows.webhook(), await rows.webhook(), await rows.webhook()];
    for (const id of [held, lapsed, free]) await rows.deliveries(id, { count: 2 });
    const lease = (id: WebhookId, seconds: number) =>
      database.query(
        `update deliveries set leased_until = now() + make_interval(secs => $2)
         where id = (select min(id) from deliveries where webhook_id = $1)`,
        [id, seconds],
      );
    await lease(held, 30);
    await lease(lapsed, -1);
    const found = new Map((await walkOnce()).map((walked) => [walked.webhookId, walked.held]));
    expect(found).toEqual(
      new Map([
        [held, true],
        [lapsed, false],
        [free, false],
      ]),
    );
  });

  test('says of each whether its first row has been under way for unusually long', async () => {
    const webhooks = { stuck: '30, -2', brisk: '30, 0', queued: '30, null', lapsed: '-1, -2' };
    const found: Record<string, boolean> = {};
    for (const [name, seconds] of Object.entries(webhooks)) {
      const id = await rows.webhook();
      await rows.deliveries(id);
      const [leased, taken] = seconds.split(',').map((text) => `now() + make_interval(secs => ${text})`);
      await database.query(
        `update deliveries set leased_until = ${leased}, taken_at = ${taken} where webhook_id = $1`,
        [id],
      );
      found[name] = (await walkOnce()).find(({ webhookId }) => webhookId === id)?.stuck ?? false;
    }
    expect(found).toEqual({ stuck: true, brisk: false, queued: false, lapsed: false });
  });

  test('of an empty table finds nothing', async () => {
    expect(await timetable.walk('', 10, LIMITS)).toEqual({ webhooks: [], cursor: null });
  });
});
