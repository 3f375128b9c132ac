import { beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { died, finished, retried } from '../../test/outcomes.ts';
import { CLAIM_LIMITS, leasedBy, requestFor, setupLeases } from '../../test/claim-fixture.ts';
import { createDeliveryWork } from './delivery-work.ts';
import type { DeliveryWork, HeldDelivery, TakenDelivery } from './delivery-work.ts';

const LEASE_SECONDS = 30;

const { database, rows, leases } = setupLeases(10);
let work: DeliveryWork;
let webhookId: WebhookId;
beforeEach(async () => {
  work = createDeliveryWork(leases.pool, leases.pool);
  webhookId = await rows.webhook();
});

async function takenOne(): Promise<TakenDelivery> {
  const [deliveryId = ''] = await rows.deliveries(webhookId);
  const [one] = await work.take([{ deliveryId, claim: 0 }], LEASE_SECONDS);
  if (one === undefined) throw new Error('nothing was taken');
  return one;
}

/** The lease of the one who holds the row runs out, and another takes it. */
async function takenByAnother(held: HeldDelivery): Promise<TakenDelivery> {
  await database.query('update deliveries set leased_until = now() where id = $1', [held.deliveryId]);
  const claims = await leases.outbox.claim([requestFor(webhookId)], CLAIM_LIMITS);
  const [other] = await work.take(leasedBy(claims), LEASE_SECONDS);
  if (other === undefined) throw new Error('the other did not get it');
  return other;
}

/** As a failover to a replica that lags, or a restore: rows are lost, and their ids are given out again. */
async function rewindTo(deliveryId: string): Promise<void> {
  await database.query('delete from deliveries');
  await database.query('delete from events');
  await database.query(`select setval(pg_get_serial_sequence('deliveries', 'id'), $1, false)`, [deliveryId]);
}

const deliveries = () => database.query('select * from deliveries order by id');
const attempts = () => database.query('select * from attempts order by delivery_id, attempt');
const letters = () => database.query('select * from dead_letters order by id');

const finishes: [string, (held: HeldDelivery) => Promise<string[]>][] = [
  ['done', async (held) => work.done([finished(held)])],
  ['retry', async (held) => work.retry([retried(held)])],
  ['dead', async (held) => work.dead([died(held)])],
];

test.each(finishes)(
  '%s: a finish that comes after another has taken the row changes nothing',
  async (_, end) => {
    const held = await takenOne();
    const other = await takenByAnother(held);
    const before = await deliveries();
    expect(await end(held)).toEqual([]);
    expect(await deliveries()).toEqual(before);
    expect([...(await attempts()), ...(await letters())]).toEqual([]);
    expect(await end(other)).toEqual([other.deliveryId]);
  },
);

test.each(finishes)('%s: a finish whose lease ran out, but whose row nobody took, counts', async (_, end) => {
  const held = await takenOne();
  await database.query('update deliveries set leased_until = now()');
  expect(await end(held)).toEqual([held.deliveryId]);
});

test.each(finishes)('%s: what was ended once is not ended again', async (_, end) => {
  const held = await takenOne();
  expect(await end(held)).toEqual([held.deliveryId]);
  expect(await end(held)).toEqual([]);
  expect(await attempts()).toHaveLength(1);
});

test.each(finishes)(
  '%s: an outcome of a lost history leaves the row alone that has its id now',
  async (_, end) => {
    const lost = await takenOne();
    await rewindTo(lost.deliveryId);
    const held = await takenOne();
    expect(held).toMatchObject({ deliveryId: lost.deliveryId, claim: lost.claim });
    const before = await deliveries();
    expect(await end(lost)).toEqual([]);
    expect(await deliveries()).toEqual(before);
    expect([...(await attempts()), ...(await letters())]).toEqual([]);
    expect(await end(held)).toEqual([held.deliveryId]);
  },
);

test.each(finishes)('%s: so it does when only the webhook is another, or only the event', async (_, end) => {
  const held = await takenOne();
  const other = await rows.webhook();
  expect(await end({ ...held, webhookId: other })).toEqual([]);
  expect(await end({ ...held, eventId: await rows.event() })).toEqual([]);
  expect(await end(held)).toEqual([held.deliveryId]);
});

const inOneBatch: [string, (held: HeldDelivery) => Promise<string[]>][] = [
  ['done', async (held) => work.done([finished(held), finished(held, { statusCode: 204 })])],
  ['retry', async (held) => work.retry([retried(held), retried(held, { statusCode: 500 })])],
  ['dead', async (held) => work.dead([died(held), died(held)])],
];

test.each(inOneBatch)('%s: a delivery held from a lost history, too, is ended once', async (_, end) => {
  const held = await takenOne();
  expect(await end(held)).toEqual([held.deliveryId]);
  expect(await attempts()).toHaveLength(1);
  expect((await deliveries()).length + (await letters()).length).toBeLessThanOrEqual(1);
});

test.each(finishes)('%s: after the webhook was deleted it leaves no trace', async (_, end) => {
  const held = await takenOne();
  await database.query('delete from webhooks');
  await database.query('delete from deliveries');
  expect(await end(held)).toEqual([]);
  expect([...(await deliveries()), ...(await attempts()), ...(await letters())]).toEqual([]);
});
