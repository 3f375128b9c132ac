import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { QueueUnavailableError } from '@postrider/queue';
import { DeliveryGround } from '../test/delivery-ground.ts';
import { openRelayStore } from '../test/open-relay-store.ts';
import type { RelayStore } from '../test/open-relay-store.ts';

const WAITING_MAX = 128;
const FIRST_ROOM = 8;
const NO_NEWS_MS = 60_000;
const RETRY_MS = 5;
const FULL_FOR_MS = 15;

let store: RelayStore;
let ground: DeliveryGround;

beforeAll(async () => void (store = await openRelayStore()));
afterAll(() => store.close());
beforeEach(async () => {
  await store.rows.clear();
  ground = new DeliveryGround(store);
});

async function webhookWith(count: number): Promise<{ webhookId: WebhookId; ids: string[] }> {
  const webhookId = await store.rows.webhook();
  return { webhookId, ids: await store.rows.deliveries(webhookId, { count }) };
}

describe('news of a webhook', () => {
  test('is claimed for at once, without a scan, and for nobody else', async () => {
    const { webhookId, ids } = await webhookWith(2);
    await webhookWith(1);
    expect(await ground.tell(webhookId)).toBe(NO_NEWS_MS);
    expect(ground.idsQueued()).toEqual(ids);
    expect([ground.asked, ground.scans, ground.sweeps]).toEqual([[[webhookId]], 0, 0]);
  });

  test('is claimed for while a round is under way', async () => {
    const other = await webhookWith(1);
    const newcomer = await store.rows.webhook();
    const order: string[] = [];
    ground.duringClaim = async () => {
      await store.rows.deliveries(newcomer);
      await ground.tell(newcomer);
      order.push('news');
    };
    await ground.turn().then(() => order.push('round'));
    expect(order).toEqual(['news', 'round']);
    expect(ground.asked).toEqual([[other.webhookId], [newcomer]]);
    expect(ground.queued()).toHaveLength(2);
  });

  test('is kept while another claim for the webhook is under way', async () => {
    const { webhookId } = await webhookWith(1);
    ground.duringClaim = async () => {
      await store.rows.deliveries(webhookId);
      expect(await ground.tell(webhookId)).toBe(RETRY_MS);
      expect(ground.asked).toHaveLength(1);
    };
    await ground.turn();
    expect(ground.queued()).toHaveLength(1);
    await ground.tell();
    expect(ground.queued()).toHaveLength(2);
  });

  test('is left to the rounds where there is more than its room holds', async () => {
    const { webhookId } = await webhookWith(FIRST_ROOM + 3);
    await ground.tell(webhookId);
    expect(ground.queued()).toHaveLength(FIRST_ROOM);
    await Promise.all([ground.work('fast'), ground.work('slow')]);
    await ground.turn();
    expect(ground.queued()).toHaveLength(3);
  });

  test('is claimed for at once also where it waits behind itself', async () => {
    const { webhookId } = await webhookWith(FIRST_ROOM + 3);
    for (let n = 0; n < 2; n += 1) {
      await ground.tell(webhookId);
      await Promise.all([ground.work('fast'), ground.work('slow')]);
    }
    expect(ground.claims.flat()).toHaveLength(FIRST_ROOM + 3);
  });

  test('waits a moment where the room is full of what has not ended', async () => {
    const { webhookId } = await webhookWith(FIRST_ROOM + 3);
    for (let n = 0; n < 2; n += 1) await ground.tell(webhookId);
    expect([ground.asked.length, ground.queued().length]).toEqual([2, FIRST_ROOM]);
    await Promise.all([ground.work('fast'), ground.work('slow')]);
    ground.pass(FULL_FOR_MS - 1);
    expect(await ground.tell(webhookId)).toBe(RETRY_MS);
    expect(ground.asked).toHaveLength(2);
    ground.pass(1);
    expect(await ground.tell()).toBe(NO_NEWS_MS);
    expect([ground.asked.length, ground.queued().length]).toEqual([3, 3]);
  });

  test('is claimed for at once also where its room is full of what waits for its time', async () => {
    const { webhookId } = await webhookWith(0);
    await store.rows.deliveries(webhookId, { count: FIRST_ROOM - 1, dueInMs: 50_000 });
    await ground.turn();
    for (let n = 0; n < 2; n += 1) {
      await store.rows.deliveries(webhookId);
      await ground.tell(webhookId);
    }
    expect(ground.asked).toHaveLength(3);
  });

  test('that a round has claimed before is nothing to the rounds any more', async () => {
    const { webhookId } = await webhookWith(1);
    ground.rounds.note([webhookId]);
    await ground.turn();
    await ground.tell(webhookId);
    for (let n = 0; n < 3; n += 1) await ground.turn();
    expect(ground.asked).toEqual([[webhookId], [webhookId]]);
  });

  test('is left to the rounds where its lane is full', async () => {
    const { webhookId, ids } = await webhookWith(1);
    for (const lane of ['fast', 'slow'] as const) ground.queue.fill(lane, 'waiting', WAITING_MAX);
    await ground.tell(webhookId);
    expect(ground.queued()).toEqual([]);
    for (const lane of ['fast', 'slow'] as const) ground.queue.fill(lane, 'waiting', 0);
    await ground.tell();
    expect(ground.queued()).toEqual([]);
    await ground.turn();
    expect(ground.idsQueued()).toEqual(ids);
  });

  test('goes at once where only the other lane is full', async () => {
    const { webhookId } = await webhookWith(1);
    await ground.tell(webhookId);
    await ground.work('fast');
    await store.rows.deliveries(webhookId);
    await ground.tell(webhookId); // it has been seen to answer
    await ground.work('fast');
    ground.queue.fill('slow', 'waiting', WAITING_MAX);
    for (let n = 0; n < 2; n += 1) await ground.untilSwept(); // what was known of the queue is old by now
    for (let n = 0; n < 2; n += 1) {
      await store.rows.deliveries(webhookId);
      await ground.tell(webhookId);
    }
    expect(ground.queued()).toHaveLength(2);
  });

  test('is not forgotten when the queue is away', async () => {
    const { webhookId, ids } = await webhookWith(1);
    ground.queue.fail('depth', 'addDeliveries');
    await expect(ground.tell(webhookId)).rejects.toThrow(QueueUnavailableError);
    ground.queue.fail();
    await ground.tell();
    expect(ground.idsQueued()).toEqual(ids);
  });
});
