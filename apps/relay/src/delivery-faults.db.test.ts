import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { QueueUnavailableError } from '@postrider/queue';
import type { Lane } from '@postrider/queue';
import { DeliveryGround } from '../test/delivery-ground.ts';
import { openRelayStore } from '../test/open-relay-store.ts';
import type { RelayStore } from '../test/open-relay-store.ts';

const WAITING_MAX = 128;
/** So many more may wait at the end of a scan. */
const IN_TURN = 32;
const DELAYED_MAX = 2_000;
const FIRST_ROOM = 8;
const WEBHOOKS_PER_CLAIM = 500;

let store: RelayStore;
let ground: DeliveryGround;

beforeAll(async () => void (store = await openRelayStore()));
afterAll(() => store.close());
beforeEach(async () => {
  await store.rows.clear();
  ground = new DeliveryGround(store);
});

const byNumber = (ids: readonly string[]) => [...ids].sort((a, b) => Number(a) - Number(b));

describe('what was lost', () => {
  test('a job that went with Redis is found once its lease ran out, under a new claim', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    await ground.turn();
    ground.queue.lose();
    await ground.untilSwept();
    expect(ground.queued()).toEqual([]);
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await ground.untilSwept();
    expect(byNumber(ground.idsQueued())).toEqual(ids);
    expect(ground.queued().map(({ claim }) => claim)).toEqual([1, 1]);
    expect(ground.claims.flat().map(({ leaseExpired }) => leaseExpired)).toEqual([false, false, true, true]);
  });

  test('what a relay leased that has died is found by another', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await ground.turn();
    ground.queue.lose();
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    ({ rounds: ground.rounds, sweep: ground.sweep } = ground.newRelay());
    await ground.turn();
    expect(ground.idsQueued()).toEqual(ids);
  });
});

describe('while the queue is away', () => {
  test('what could not be added is given back at once, and goes out when the queue is back', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    ground.queue.fail('addDeliveries');
    await expect(ground.turn()).rejects.toThrow(QueueUnavailableError);
    expect(await ground.leased()).toBe(0);
    ground.queue.fail();
    await ground.turn();
    expect(byNumber(ground.idsQueued())).toEqual(ids);
  });

  test('nothing is claimed, no webhook with news is forgotten', async () => {
    await ground.turn();
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId);
    ground.queue.fail('depth', 'addDeliveries');
    await expect(ground.tell(webhookId)).rejects.toThrow(QueueUnavailableError);
    expect(await ground.leased()).toBe(0);
    ground.queue.fail();
    await ground.tell();
    expect(ground.idsQueued()).toEqual(ids);
  });

  test('a webhook earns no trust by deliveries that were only given back', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 100 });
    ground.queue.fail('addDeliveries');
    for (let n = 0; n < 6; n += 1) await expect(ground.turn()).rejects.toThrow(QueueUnavailableError);
    ground.queue.fail();
    await ground.turn();
    expect([ground.jobs('fast').length, ground.jobs('slow').length]).toEqual([1, 7]);
  });
});

describe('the depth of the queues', () => {
  test('bounds what goes in: full lanes take nothing', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    for (const lane of ['fast', 'slow'] as const) ground.queue.fill(lane, 'waiting', WAITING_MAX + IN_TURN);
    for (let n = 0; n < 15; n += 1) await ground.turn();
    expect([ground.queued(), await ground.leased()]).toEqual([[], 0]);
    ground.queue.fill('fast', 'waiting', WAITING_MAX + IN_TURN - 1);
    await ground.untilSwept();
    expect(await ground.leased()).toBe(1);
  });

  test('of one lane does not hinder the other', async () => {
    const [failing, well] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, well]) await store.rows.deliveries(id, { count: 2 });
    ground.queue.fill('slow', 'waiting', WAITING_MAX + IN_TURN);
    await ground.untilSwept();
    expect(ground.claims.flat().map(({ webhookId }) => webhookId)).toEqual([well]); // a new one has one of the fast lane
    ground.queue.fill('slow', 'waiting', 0);
    ground.queue.fill('fast', 'waiting', WAITING_MAX + IN_TURN);
    await ground.untilSwept();
    expect(ground.claims.flat().filter(({ webhookId }) => webhookId === failing)).toHaveLength(2);
  });

  test('with too many delayed jobs only what is due now goes in', async () => {
    const webhookId = await store.rows.webhook();
    const due = await store.rows.deliveries(webhookId);
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    ground.queue.fill('slow', 'delayed', DELAYED_MAX);
    ground.queue.fill('fast', 'delayed', 1);
    const early = await store.rows.webhook();
    await store.rows.deliveries(early, { dueInMs: 1_000 });
    await ground.untilSwept();
    expect(ground.idsQueued()).toEqual(due);
    expect(ground.asked).toEqual([[webhookId]]);
  });

  test('the more delayed jobs there are, the less far ahead is looked', async () => {
    const webhookId = await store.rows.webhook();
    const [soon = ''] = await store.rows.deliveries(webhookId, { dueInMs: 25_000 });
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    ground.queue.fill('slow', 'delayed', DELAYED_MAX / 2);
    await ground.untilSwept();
    expect(ground.idsQueued()).toEqual([soon]);
  });

  test('one claim puts in no more delayed jobs than there may still be', async () => {
    for (let n = 0; n < 48; n += 1) {
      await store.rows.deliveries(await store.rows.webhook(), { count: 8, dueInMs: 8_900 });
    }
    ground.queue.fill('slow', 'delayed', DELAYED_MAX - 300);
    await ground.untilSwept();
    const delayed = ground.queued().filter(({ delayMs }) => delayMs > 0);
    expect([delayed.length > 0, delayed.length <= 300]).toEqual([true, true]);
  });
});

describe('fairness', () => {
  test('a failing webhook goes to the slow lane, four at a time; a new one has one of the fast lane', async () => {
    const [failing, fresh] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, fresh]) await store.rows.deliveries(id, { count: 30 });
    await ground.turn();
    const laneOf = new Map(ground.claims.flat().map((row) => [row.deliveryId, row.webhookId]));
    const count = (lane: Lane, id: WebhookId) =>
      ground.jobs(lane).filter((job) => laneOf.get(job.deliveryId) === id).length;
    expect([count('fast', failing), count('slow', failing)]).toEqual([0, 4]);
    expect([count('fast', fresh), count('slow', fresh)]).toEqual([1, 7]);
  });

  test('a flooder’s backlog stays in Postgres while others’ events go out', async () => {
    const flooder = await store.rows.webhook();
    await store.rows.deliveries(flooder, { count: 3000, dueInMs: -60_000 });
    await ground.turn();
    const quiet = await store.rows.webhook();
    const ids = await store.rows.deliveries(quiet);
    await ground.tell(quiet);
    expect(ground.idsQueued()).toEqual(expect.arrayContaining(ids));
    expect(ground.queued()).toHaveLength(FIRST_ROOM + 1);
  });

  test('of many busy webhooks each gets its turn when the workers keep up with a few only', async () => {
    const busy: WebhookId[] = [];
    for (let n = 0; n < 30; n += 1) busy.push(await store.rows.webhook());
    for (const id of busy) await store.rows.deliveries(id, { count: 100 });
    ground.queue.fill('fast', 'waiting', WAITING_MAX - 3); // room for three a turn
    ground.queue.fill('slow', 'waiting', WAITING_MAX);
    const served = await work(60, () => ground.tell(...busy.slice(0, 10))); // these have news all the time
    const counts = busy.map((id) => served.get(id) ?? 0);
    const share = counts.reduce((sum, count) => sum + count, 0) / busy.length;
    expect(share).toBeGreaterThanOrEqual(5);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(share / 3);
  });

  test('webhooks whose fresh events keep the lanes full starve nobody who waits', async () => {
    const chatty = [await store.rows.webhook(), await store.rows.webhook(), await store.rows.webhook()];
    const waiting = [await store.rows.webhook(), await store.rows.webhook()];
    for (const id of waiting) await store.rows.deliveries(id, { count: 100 });
    await work(3, async () => undefined); // they are known to answer
    ground.queue.fill('fast', 'waiting', WAITING_MAX - chatty.length);
    ground.queue.fill('slow', 'waiting', WAITING_MAX);
    const served = await work(60, async () => {
      for (const id of chatty) await store.rows.deliveries(id);
      await ground.tell(...chatty);
    });
    expect(waiting.map((id) => (served.get(id) ?? 0) > 0)).toEqual([true, true]);
  });

  test('however many wait for one lane, who waits for the other has its turn', async () => {
    const failing: WebhookId[] = [];
    for (let n = 0; n < WEBHOOKS_PER_CLAIM + 300; n += 1)
      failing.push(await store.rows.webhook({ failing: true }));
    for (const id of failing) await store.rows.deliveries(id, { count: 12 });
    const well = await store.rows.webhook();
    await work(7, async () => ground.rounds.note(failing)); // each is known for what it is
    await store.rows.deliveries(well);
    await work(1, () => ground.tell(well));
    for (const lane of ['fast', 'slow'] as const) ground.queue.fill(lane, 'waiting', WAITING_MAX);
    await ground.untilSwept(); // what was known of the queue is old by now
    await Promise.all([ground.work('fast'), ground.work('slow')]);
    await store.rows.deliveries(well);
    ground.rounds.note([...failing, well]);
    await ground.untilSwept();
    expect((await ground.work('fast')).get(well)).toBe(1);
  });

  /** Rounds, before each of which something happens and after each of which workers take all. @returns what they served */
  async function work(rounds: number, before: () => Promise<unknown>): Promise<Map<WebhookId, number>> {
    const served = new Map<WebhookId, number>();
    for (let n = 0; n < rounds; n += 1) {
      await before();
      await ground.turn();
      for (const lane of ['fast', 'slow'] as const) {
        for (const [id, count] of await ground.work(lane)) served.set(id, (served.get(id) ?? 0) + count);
      }
    }
    return served;
  }
});
