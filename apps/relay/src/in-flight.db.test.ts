import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { DeliveryFixture } from '../test/delivery-fixture.ts';
import { openRelayStore } from '../test/open-relay-store.ts';
import type { RelayStore } from '../test/open-relay-store.ts';

let store: RelayStore;
let fixture: DeliveryFixture;
let webhookId: WebhookId;
let sibling: WebhookId;

beforeAll(async () => void (store = await openRelayStore()));
afterAll(() => store.close());
beforeEach(async () => {
  await store.rows.clear();
  fixture = new DeliveryFixture(store);
  const accountId = await store.rows.account();
  [webhookId, sibling] = [await store.rows.webhook({ accountId }), await store.rows.webhook({ accountId })];
  await store.rows.deliveries(sibling);
  await fixture.wakeUp(sibling); // the relay knows its account now
  await work();
  await fixture.untilScanned();
});

/** What the relay takes the account to have in flight: it says so with a claim for another webhook. */
async function accountInFlight(): Promise<number | undefined> {
  await fixture.wakeUp(sibling);
  return fixture.accountInFlight.get(sibling);
}

const work = () => Promise.all([fixture.work('fast'), fixture.work('slow')]);

describe('what a webhook was handed', () => {
  test('is in flight for as long as scans find its first delivery leased, and no longer', async () => {
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

  test('is not in flight any more when all that is leased waits for its time', async () => {
    await store.rows.deliveries(webhookId, { count: 3 });
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    await fixture.wakeUp(webhookId);
    expect(await accountInFlight()).toBe(3);
    await store.database.query('delete from deliveries where due_at <= now()');
    await fixture.untilScanned();
    expect(await accountInFlight()).toBe(0);
  });

  test('is in flight where the first delivery of a webhook that has not answered yet finds the fast lane full', async () => {
    fixture.queue.fill('fast', 'waiting', 1_000);
    fixture.advance(2_000); // what was known of the queue is old
    await store.rows.deliveries(webhookId, { count: 3 });
    await fixture.wakeUp(webhookId);
    await fixture.untilScanned();
    fixture.queue.fill('fast', 'waiting', 0);
    fixture.advance(2_000);
    expect(await accountInFlight()).toBe(2);
  });

  test('is not in flight any more when its lease has run out', async () => {
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId);
    await work(); // it answers
    await store.rows.deliveries(webhookId, { count: 3 });
    await fixture.wakeUp(webhookId);
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', 1_000); // no claim gets it
    fixture.advance(2_000); // what was known of the queue is old
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await fixture.untilScanned();
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', 0);
    fixture.advance(2_000);
    expect(await accountInFlight()).toBe(0);
  });

  test('is in flight though a scan that was under way found nothing', async () => {
    await fixture.wakeUp(webhookId); // the relay knows it, and looks at it
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

  test('is looked at by the next scan also when it was gone before its claim had returned', async () => {
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
