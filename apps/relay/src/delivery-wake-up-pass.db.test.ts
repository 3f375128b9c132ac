import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { QueueUnavailableError } from '@postrider/queue';
import { DeliveryFixture } from '../test/delivery-fixture.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';

const WAITING_MAX = 128;
const FIRST_LIMIT = 8;
const IDLE_PAUSE_MS = 60_000;
const RETRY_MS = 5;
const AT_LIMIT_PAUSE_MS = 15;

const store = setupRelayStore();
let fixture: DeliveryFixture;

beforeEach(() => void (fixture = new DeliveryFixture(store)));

async function webhookWith(count: number): Promise<{ webhookId: WebhookId; ids: string[] }> {
  const webhookId = await store.rows.webhook();
  return { webhookId, ids: await store.rows.deliveries(webhookId, { count }) };
}

describe('a woken webhook', () => {
  test('is claimed for at once, without a scan and without other webhooks', async () => {
    const { webhookId, ids } = await webhookWith(2);
    await webhookWith(1);
    expect(await fixture.wakeUp(webhookId)).toBe(IDLE_PAUSE_MS);
    expect(fixture.idsQueued()).toEqual(ids);
    expect([fixture.asked, fixture.scans, fixture.sweeps]).toEqual([[[webhookId]], 0, 0]);
  });

  test('is claimed for during a run of the polling pass', async () => {
    const other = await webhookWith(1);
    const newcomer = await store.rows.webhook();
    const order: string[] = [];
    fixture.duringClaim = async () => {
      await store.rows.deliveries(newcomer);
      await fixture.wakeUp(newcomer);
      order.push('wake-up');
    };
    await fixture.poll().then(() => order.push('polling'));
    expect(order).toEqual(['wake-up', 'polling']);
    expect(fixture.asked).toEqual([[other.webhookId], [newcomer]]);
    expect(fixture.queued()).toHaveLength(2);
  });

  test('is kept while another claim for it is running', async () => {
    const { webhookId } = await webhookWith(1);
    fixture.duringClaim = async () => {
      await store.rows.deliveries(webhookId);
      expect(await fixture.wakeUp(webhookId)).toBe(RETRY_MS);
      expect(fixture.asked).toHaveLength(1);
    };
    await fixture.poll();
    expect(fixture.queued()).toHaveLength(1);
    await fixture.wakeUp();
    expect(fixture.queued()).toHaveLength(2);
  });

  test('is left to the polling pass when it has more than its limit', async () => {
    const { webhookId } = await webhookWith(FIRST_LIMIT + 3);
    await fixture.wakeUp(webhookId);
    expect(fixture.queued()).toHaveLength(FIRST_LIMIT);
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    await fixture.poll();
    expect(fixture.queued()).toHaveLength(3);
  });

  test('is claimed for at once, also behind its own deliveries in flight', async () => {
    const { webhookId } = await webhookWith(FIRST_LIMIT + 3);
    for (let n = 0; n < 2; n += 1) {
      await fixture.wakeUp(webhookId);
      await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    }
    expect(fixture.claims.flat()).toHaveLength(FIRST_LIMIT + 3);
  });

  test('waits 15 ms when its limit is reached', async () => {
    const { webhookId } = await webhookWith(FIRST_LIMIT + 3);
    for (let n = 0; n < 2; n += 1) await fixture.wakeUp(webhookId);
    expect([fixture.asked.length, fixture.queued().length]).toEqual([2, FIRST_LIMIT]);
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    fixture.advance(AT_LIMIT_PAUSE_MS - 1);
    expect(await fixture.wakeUp(webhookId)).toEqual({ noWorkForMs: RETRY_MS });
    expect(fixture.asked).toHaveLength(2);
    fixture.advance(1);
    expect(await fixture.wakeUp()).toBe(IDLE_PAUSE_MS);
    expect([fixture.asked.length, fixture.queued().length]).toEqual([3, 3]);
  });

  test('is claimed for at once, also when delayed deliveries reach its limit', async () => {
    const { webhookId } = await webhookWith(0);
    await store.rows.deliveries(webhookId, { count: FIRST_LIMIT - 1, dueInMs: 50_000 });
    await fixture.poll();
    for (let n = 0; n < 2; n += 1) {
      await store.rows.deliveries(webhookId);
      await fixture.wakeUp(webhookId);
    }
    expect(fixture.asked).toHaveLength(3);
  });

  test('does not return to the polling pass after a claim that got everything', async () => {
    const { webhookId } = await webhookWith(1);
    fixture.polling.add([webhookId]);
    await fixture.poll();
    await fixture.wakeUp(webhookId);
    for (let n = 0; n < 3; n += 1) await fixture.poll();
    expect(fixture.asked).toEqual([[webhookId], [webhookId]]);
  });

  test('is left to the polling pass when its lane is full', async () => {
    const { webhookId, ids } = await webhookWith(1);
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', WAITING_MAX);
    await fixture.wakeUp(webhookId);
    expect(fixture.queued()).toEqual([]);
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', 0);
    await fixture.wakeUp();
    expect(fixture.queued()).toEqual([]);
    await fixture.poll();
    expect(fixture.idsQueued()).toEqual(ids);
  });

  test('is served at once when only the other lane is full', async () => {
    const { webhookId } = await webhookWith(1);
    await fixture.wakeUp(webhookId);
    await fixture.work('fast');
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId); // the relay has seen it answer
    await fixture.work('fast');
    fixture.queue.fill('slow', 'waiting', WAITING_MAX);
    for (let n = 0; n < 2; n += 1) await fixture.untilSwept(); // afterwards the relay asks the queue for its depth
    for (let n = 0; n < 2; n += 1) {
      await store.rows.deliveries(webhookId);
      await fixture.wakeUp(webhookId);
    }
    expect(fixture.queued()).toHaveLength(2);
  });

  test('is kept while the queue is unavailable', async () => {
    const { webhookId, ids } = await webhookWith(1);
    fixture.queue.fail('depth', 'addDeliveries');
    await expect(fixture.wakeUp(webhookId)).rejects.toThrow(QueueUnavailableError);
    fixture.queue.fail();
    await fixture.wakeUp();
    expect(fixture.idsQueued()).toEqual(ids);
  });
});
