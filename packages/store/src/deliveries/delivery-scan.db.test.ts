import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createPool } from '../db/pool.ts';
import { createDeliveryOutbox } from './delivery-outbox.ts';
import type { DeliveryOutbox, DeliveryPosition, ScannedWebhook } from './delivery-outbox.ts';
import { scanWebhooks } from './sql/scan-webhooks.ts';

const LIMITS = { lookAheadSeconds: 60, stuckAfterSeconds: 1 };

let database: TestDatabase;
let rows: Rows;
let pool: Pool;
let outbox: DeliveryOutbox;

beforeAll(async () => {
  database = await createTestDatabase();
  rows = createRows(database);
  pool = createPool({
    databaseUrl: database.url,
    size: 2,
    applicationName: 'scan-test',
    durableCommits: false,
    onError: () => undefined,
  });
  outbox = createDeliveryOutbox(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(() => rows.clear());

async function scan(webhookId: WebhookId, scanFrom: DeliveryPosition | null = null): Promise<ScannedWebhook> {
  const [found] = await outbox.scan([{ webhookId, scanFrom }], LIMITS);
  if (found === undefined) throw new Error('the scan said nothing of it');
  return found;
}

async function pagesRead(webhookId: WebhookId, scanFrom: DeliveryPosition | null): Promise<number> {
  const values = [[webhookId], [scanFrom?.dueAt ?? null], [scanFrom?.deliveryId ?? null], 60, 1];
  const explained = await pool.query<{ 'QUERY PLAN': [{ Plan: Record<string, unknown> }] }>(
    `explain (analyze, buffers, format json) ${scanWebhooks.text}`,
    values,
  );
  const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan ?? {};
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
}

describe('the scan', () => {
  test('tells of each webhook whether it has a delivery, and whether that is due within the look-ahead', async () => {
    const webhooks = [await rows.webhook(), await rows.webhook(), await rows.webhook()] as const;
    const [none, soon, later] = webhooks;
    await rows.deliveries(soon, { dueInMs: 50_000 });
    await rows.deliveries(later, { dueInMs: 70_000 });
    const found = await outbox.scan(
      webhooks.map((webhookId) => ({ webhookId, scanFrom: null })),
      LIMITS,
    );
    const told = new Map(
      found.map(({ webhookId, outstanding, dueSoon }) => [webhookId, [outstanding, dueSoon]]),
    );
    expect(told).toEqual(
      new Map([
        [none, [false, false]],
        [soon, [true, true]],
        [later, [true, false]],
      ]),
    );
  });

  test('begins at the mark', async () => {
    const webhookId = await rows.webhook();
    const [, second = ''] = await rows.deliveries(webhookId, { count: 2, dueInMs: -60_000 });
    const [row] = await database.query<{ due_at: string }>(
      'select due_at::text from deliveries where id = $1',
      [second],
    );
    const found = await scan(webhookId, { dueAt: row?.due_at ?? '', deliveryId: second });
    expect(found.firstDue?.deliveryId).toBe(second);
  });

  test('reads nothing of what ended before the mark, though an open snapshot keeps it in the index', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 30_000, dueInMs: -60_000 });
    await inUndoneTransaction(pool, async (reader) => {
      await reader.query('declare held cursor for select 1'); // its snapshot lasts as long as the transaction
      await database.query('delete from deliveries');
      const { scanFrom } = await scan(webhookId);
      const [fromTheStart, fromTheMark] = [
        await pagesRead(webhookId, null),
        await pagesRead(webhookId, scanFrom),
      ];
      expect(fromTheStart).toBeGreaterThan(200);
      expect(fromTheMark).toBeLessThan(20);
    });
  });

  test('marks a webhook at its first delivery, but no later than two seconds ago', async () => {
    const webhookId = await rows.webhook();
    const [old = ''] = await rows.deliveries(webhookId, { dueInMs: -60_000 });
    const { scanFrom: atTheFirst } = await scan(webhookId);
    expect(atTheFirst.deliveryId).toBe(old);
    await database.query('delete from deliveries');
    const { scanFrom: ofNone } = await scan(webhookId);
    const [fresh = ''] = await rows.deliveries(webhookId);
    const { scanFrom: beforeTheFresh } = await scan(webhookId);
    for (const scanFrom of [ofNone, beforeTheFresh]) {
      expect(scanFrom.deliveryId).toBe('0');
      // What another transaction inserted before and commits now lies behind the scanFrom.
      const [late] = await database.query<{ behind: boolean }>(
        `select now() - interval '1 s' > $1::timestamptz as behind`,
        [scanFrom.dueAt],
      );
      expect(late?.behind).toBe(true);
    }
    expect((await scan(webhookId, ofNone)).firstDue?.deliveryId).toBe(fresh);
  });

  test('says of each whether its first row is leased', async () => {
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
    const found = new Map<WebhookId, boolean>();
    for (const id of [held, lapsed, free]) found.set(id, (await scan(id)).leased);
    expect(found).toEqual(
      new Map([
        [held, true],
        [lapsed, false],
        [free, false],
      ]),
    );
  });

  test('says for each webhook whether its first row has been in flight for unusually long', async () => {
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
      found[name] = (await scan(id)).stuck;
    }
    expect(found).toEqual({ stuck: true, brisk: false, queued: false, lapsed: false });
  });
});
