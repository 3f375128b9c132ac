import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { CLAIM_LIMITS, openLeasePool } from '../../test/claim-ground.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createDeliveryOutbox } from './delivery-outbox.ts';
import type { ClaimedDelivery, DeliveryOutbox, DeliveryPosition } from './delivery-outbox.ts';
import { claimDeliveries } from './sql/claim-deliveries.ts';

let database: TestDatabase;
let rows: Rows;
let pool: Pool;
let outbox: DeliveryOutbox;

beforeAll(async () => {
  database = await createTestDatabase();
  rows = createRows(database);
  pool = openLeasePool(database.url, 1);
  outbox = createDeliveryOutbox(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(() => rows.clear());

async function firstDueOf(webhookId: WebhookId): Promise<DeliveryPosition | null | undefined> {
  const [scanned] = await outbox.scan([{ webhookId, scanFrom: null }], CLAIM_LIMITS);
  return scanned?.firstDue;
}

async function claim(
  webhookId: WebhookId,
  limit: number,
  scanFrom: DeliveryPosition | null | undefined,
): Promise<ClaimedDelivery[]> {
  return outbox.claim([{ webhookId, limit, fastLimit: limit, scanFrom: scanFrom ?? null }], CLAIM_LIMITS);
}

const idsOf = (claimed: readonly ClaimedDelivery[]) =>
  claimed.map(({ deliveryId }) => deliveryId).sort((a, b) => Number(a) - Number(b));

/** Pages that a claim goes to, each as often as it does. It is undone. */
async function pagesRead(webhookId: WebhookId, scanFrom: DeliveryPosition | null): Promise<number> {
  return inUndoneTransaction(pool, async (session) => {
    const values = [
      [webhookId],
      [8],
      [8],
      60,
      1000,
      1000,
      4,
      30,
      1,
      [scanFrom?.dueAt],
      [scanFrom?.deliveryId],
      1000,
      [0],
    ];
    const explained = await session.query<{ 'QUERY PLAN': [{ Plan: Record<string, unknown> }] }>(
      `explain (analyze, buffers, format json) ${claimDeliveries.text}`,
      values,
    );
    const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan ?? {};
    return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
  });
}

describe('the first due delivery of a webhook', () => {
  test('is its first delivery that is due, in somebody’s hands or not', async () => {
    const webhookId = await rows.webhook();
    const [first = '', second = ''] = await rows.deliveries(webhookId, { count: 2 });
    await claim(webhookId, 1, null);
    const scanFrom = await firstDueOf(webhookId);
    expect(scanFrom?.deliveryId).toBe(first);
    await database.query('delete from deliveries where id = $1', [first]);
    expect((await firstDueOf(webhookId))?.deliveryId).toBe(second);
  });

  test('is nowhere while nothing is due', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { dueInMs: 30_000 });
    expect(await firstDueOf(webhookId)).toBeNull();
  });

  test('is where a claim begins: what is before it is left alone, though it is due', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 3 });
    const scanFrom = await firstDueOf(webhookId);
    const earlier = await rows.deliveries(webhookId, { dueInMs: -60_000 });
    expect(idsOf(await claim(webhookId, 8, scanFrom))).toEqual(ids);
    expect(idsOf(await claim(webhookId, 8, null))).toEqual(earlier);
  });

  test('is told apart by id from what is due at the same microsecond', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 5 });
    await database.query('update deliveries set due_at = (select min(due_at) from deliveries)');
    await database.query('delete from deliveries where id = any ($1)', [ids.slice(0, 2)]);
    const scanFrom = await firstDueOf(webhookId);
    expect(scanFrom?.deliveryId).toBe(ids[2]);
    expect(idsOf(await claim(webhookId, 2, scanFrom))).toEqual(ids.slice(2, 4));
  });

  test('of one webhook says nothing of another in the same claim', async () => {
    const [one, other] = [await rows.webhook(), await rows.webhook()];
    await rows.deliveries(one, { dueInMs: -1_000 });
    const earlier = await rows.deliveries(other, { dueInMs: -60_000 });
    const asked = { limit: 8, fastLimit: 8 };
    const claimed = await outbox.claim(
      [
        { webhookId: one, ...asked, scanFrom: (await firstDueOf(one)) ?? null },
        { webhookId: other, ...asked },
      ],
      CLAIM_LIMITS,
    );
    expect(claimed).toHaveLength(2);
    expect(idsOf(claimed.filter(({ webhookId }) => webhookId === other))).toEqual(earlier);
  });

  test('spares a claim the reading of all that has ended since the last vacuum', async () => {
    const webhookId = await rows.webhook();
    await database.query('alter table deliveries set (autovacuum_enabled = false)');
    const ids = await rows.deliveries(webhookId, { count: 30_000 });
    await database.query('delete from deliveries where id = any ($1)', [ids.slice(0, -100)]);
    const scanFrom = (await firstDueOf(webhookId)) ?? null;
    expect(scanFrom).not.toBeNull();
    const [fromTheFirst, fromFirstDue] = [
      await pagesRead(webhookId, null),
      await pagesRead(webhookId, scanFrom),
    ];
    expect(fromTheFirst).toBeGreaterThan(fromFirstDue + 100);
  });
});
