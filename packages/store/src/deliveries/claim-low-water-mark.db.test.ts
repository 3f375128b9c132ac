import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import {
  CLAIM_LIMIT_VALUES,
  CLAIM_LIMITS,
  leasedBy,
  requestFor,
  setupLeases,
} from '../../test/claim-fixture.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import type { DeliveryPosition, LeasedDelivery, WebhookReport } from './delivery-outbox.ts';
import { claimDeliveries } from './sql/claim-deliveries.ts';

const { database, rows, leases } = setupLeases(2);

async function claimFrom(
  webhookId: WebhookId,
  lowWaterMark: DeliveryPosition | null,
  limit = 8,
): Promise<WebhookReport> {
  const [claim] = await leases.outbox.claim([requestFor(webhookId, limit, { lowWaterMark })], CLAIM_LIMITS);
  if (claim === undefined) throw new Error('the claim did not report the webhook');
  return claim;
}

/** The position of a delivery. */
async function positionOf(deliveryId: string | undefined): Promise<DeliveryPosition> {
  const [row] = await database.query<{ dueAt: string }>(
    'select due_at::text as "dueAt" from deliveries where id = $1',
    [deliveryId],
  );
  return { dueAt: row?.dueAt ?? '', deliveryId: deliveryId ?? '' };
}

const idsOf = (leased: readonly LeasedDelivery[]) =>
  leased.map(({ deliveryId }) => deliveryId).sort((a, b) => Number(a) - Number(b));

/** Pages that a claim goes to, each as often as it does. It is undone. */
async function pagesRead(webhookId: WebhookId, lowWaterMark: DeliveryPosition | null): Promise<number> {
  return inUndoneTransaction(leases.pool, async (session) => {
    const position = [[lowWaterMark?.dueAt], [lowWaterMark?.deliveryId]];
    const values = [[webhookId], [8], [8], [false], ...position, [0], ...CLAIM_LIMIT_VALUES];
    const explained = await session.query<{ 'QUERY PLAN': [{ Plan: Record<string, unknown> }] }>(
      `explain (analyze, buffers, format json) ${claimDeliveries.text}`,
      values,
    );
    const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan ?? {};
    return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
  });
}

describe('the position where a claim starts', () => {
  test('excludes earlier deliveries, although they are due', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 3 });
    const start = await positionOf(ids[0]);
    const earlier = await rows.deliveries(webhookId, { dueInMs: -60_000 });
    expect(idsOf((await claimFrom(webhookId, start)).leased)).toEqual(ids);
    expect(idsOf((await claimFrom(webhookId, null)).leased)).toEqual(earlier);
  });

  test('tells deliveries of the same microsecond apart by id', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 5 });
    await database.query('update deliveries set due_at = (select min(due_at) from deliveries)');
    expect(idsOf((await claimFrom(webhookId, await positionOf(ids[2]), 2)).leased)).toEqual(ids.slice(2, 4));
  });

  test('is separate for each webhook of a claim', async () => {
    const [one, other] = [await rows.webhook(), await rows.webhook()];
    const [first] = await rows.deliveries(one, { dueInMs: -1_000 });
    const earlier = await rows.deliveries(other, { dueInMs: -60_000 });
    const requests = [requestFor(one, 8, { lowWaterMark: await positionOf(first) }), requestFor(other)];
    const claims = await leases.outbox.claim(requests, CLAIM_LIMITS);
    const leased = leasedBy(claims);
    expect(leased).toHaveLength(2);
    expect(idsOf(leased.filter(({ webhookId }) => webhookId === other))).toEqual(earlier);
  });

  test('spares the claim what has ended before, although an open snapshot keeps it in the index', async () => {
    const webhookId = await rows.webhook();
    await database.query('alter table deliveries set (autovacuum_enabled = false)');
    const ids = await rows.deliveries(webhookId, { count: 30_000, dueInMs: -60_000 });
    await inUndoneTransaction(leases.pool, async (reader) => {
      await reader.query('declare held cursor for select 1'); // its snapshot lasts as long as the transaction
      await database.query('delete from deliveries where id = any ($1)', [ids.slice(0, -100)]);
      const { lowWaterMark } = await claimFrom(webhookId, null);
      const [fromTheFirst, fromTheMark] = [
        await pagesRead(webhookId, null),
        await pagesRead(webhookId, lowWaterMark),
      ];
      expect(fromTheFirst).toBeGreaterThan(fromTheMark + 100);
    });
  });
});

test('the next claim starts at the first delivery, but no later than two seconds ago', async () => {
  const webhookId = await rows.webhook();
  const [old = ''] = await rows.deliveries(webhookId, { dueInMs: -60_000 });
  const { lowWaterMark: atTheFirst } = await claimFrom(webhookId, null);
  expect(atTheFirst.deliveryId).toBe(old);
  await database.query('delete from deliveries');
  const { lowWaterMark: ofNone } = await claimFrom(webhookId, null);
  const [fresh = ''] = await rows.deliveries(webhookId);
  const { lowWaterMark: beforeTheFresh, leased } = await claimFrom(webhookId, ofNone);
  expect(idsOf(leased)).toEqual([fresh]);
  for (const lowWaterMark of [ofNone, beforeTheFresh]) {
    expect(lowWaterMark.deliveryId).toBe('0');
    // What another transaction inserted before, and commits now, lies behind the position.
    const [late] = await database.query<{ behind: boolean }>(
      `select now() - interval '1 s' > $1::timestamptz as behind`,
      [lowWaterMark.dueAt],
    );
    expect(late?.behind).toBe(true);
  }
});
