import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { DeliveryFixture } from '../test/delivery-fixture.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';

const store = setupRelayStore();
let fixture: DeliveryFixture;
let webhookId: WebhookId;
let sibling: WebhookId;

beforeEach(async () => {
  fixture = new DeliveryFixture(store);
  const accountId = await store.rows.account();
  [webhookId, sibling] = [await store.rows.webhook({ accountId }), await store.rows.webhook({ accountId })];
  await store.rows.deliveries(sibling);
  await fixture.wakeUp(sibling); // the relay knows its account now
  await work();
  await fixture.untilScanned();
});

/** The account's deliveries in flight, as the relay passes them with a claim for another webhook. */
async function accountInFlight(): Promise<number | undefined> {
  await fixture.wakeUp(sibling);
  return fixture.accountInFlight.get(sibling);
}

const work = () => Promise.all([fixture.work('fast'), fixture.work('slow')]);

describe('a claimed delivery', () => {
  test('is in flight while scans find the first delivery leased, and no longer', async () => {
    await store.rows.deliveries(webhookId, { count: 3 });
    await fixture.wakeUp(webhookId);
    for (let second = 0; second < 5; second += 1) {
      fixture.advance(1_000);
      await fixture.untilScanned();
      expect(await accountInFlight()).toBe(3);
    }
    await work();
    await fixture.untilScanned();
    expect(await accountInFlight()).toBe(0);
  });

  test('is not in flight when all leased deliveries are delayed', async () => {
    await store.rows.deliveries(webhookId, { count: 3 });
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    await fixture.wakeUp(webhookId);
    expect(await accountInFlight()).toBe(3);
    await store.database.query('delete from deliveries where due_at <= now()');
    await fixture.untilScanned();
    expect(await accountInFlight()).toBe(0);
  });

  test('is in flight when a new webhook’s first delivery finds the fast lane full', async () => {
    fixture.queue.fill('fast', 'waiting', 1_000);
    fixture.advance(2_000); // the relay asks the queue for its depth again
    await store.rows.deliveries(webhookId, { count: 3 });
    await fixture.wakeUp(webhookId);
    await fixture.untilScanned();
    fixture.queue.fill('fast', 'waiting', 0);
    fixture.advance(2_000);
    expect(await accountInFlight()).toBe(2);
  });

  test('is not in flight after its lease expires', async () => {
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId);
    await work(); // the endpoint answers
    await store.rows.deliveries(webhookId, { count: 3 });
    await fixture.wakeUp(webhookId);
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', 1_000); // no claim leases anything
    fixture.advance(2_000); // the relay asks the queue for its depth again
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await fixture.untilScanned();
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', 0);
    fixture.advance(2_000);
    expect(await accountInFlight()).toBe(0);
  });

  test('is in flight although a scan that began earlier found nothing', async () => {
    await fixture.wakeUp(webhookId); // the next scan reads this webhook
    fixture.afterScan = async () => {
      fixture.afterScan = async () => undefined;
      await store.rows.deliveries(webhookId, { count: 3 });
      await fixture.wakeUp(webhookId);
    };
    await fixture.untilScanned();
    expect(await accountInFlight()).toBe(3);
    await work();
    await fixture.untilScanned();
    expect(await accountInFlight()).toBe(0);
  });

  test('is scanned next, also when it ended before its claim returned', async () => {
    await store.rows.deliveries(webhookId, { count: 3 });
    fixture.duringClaim = async () => {
      await store.database.query('delete from deliveries');
      await fixture.untilScanned();
    };
    await fixture.wakeUp(webhookId);
    expect(await accountInFlight()).toBe(3);
    await fixture.untilScanned();
    expect(await accountInFlight()).toBe(0);
  });
});
