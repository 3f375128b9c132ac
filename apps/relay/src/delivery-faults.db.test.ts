import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { QueueUnavailableError } from '@postrider/queue';
import type { Lane } from '@postrider/queue';
import { DeliveryFixture } from '../test/delivery-fixture.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';

const WAITING_MAX = 128;
/** Extra jobs per lane after a scan. */
const WAITING_EXTRA = 32;
const DELAYED_MAX = 2_000;
const FIRST_LIMIT = 8;
const WEBHOOKS_PER_CLAIM = 500;

const store = setupRelayStore();
let fixture: DeliveryFixture;

beforeEach(() => void (fixture = new DeliveryFixture(store)));

const byNumber = (ids: readonly string[]) => [...ids].sort((a, b) => Number(a) - Number(b));

describe('lost work', () => {
  test('a job lost with Redis is claimed again under a new claim when its lease expires', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    await fixture.poll();
    fixture.queue.lose();
    await fixture.untilSwept();
    expect(fixture.queued()).toEqual([]);
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await fixture.untilSwept();
    expect(byNumber(fixture.idsQueued())).toEqual(ids);
    expect(fixture.queued().map(({ claim }) => claim)).toEqual([1, 1]);
    expect(fixture.claims.flat().map(({ leaseExpired }) => leaseExpired)).toEqual([false, false, true, true]);
  });

  test('another relay finds the leases of a relay that died', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await fixture.poll();
    fixture.queue.lose();
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    ({ polling: fixture.polling, sweep: fixture.sweep } = fixture.newRelay());
    await fixture.poll();
    expect(fixture.idsQueued()).toEqual(ids);
  });
});

describe('while the queue is unavailable', () => {
  test('deliveries that could not be queued are released at once, and queued when the queue is back', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    fixture.queue.fail('addDeliveries');
    await expect(fixture.poll()).rejects.toThrow(QueueUnavailableError);
    expect(await fixture.leased()).toBe(0);
    fixture.queue.fail();
    await fixture.poll();
    expect(byNumber(fixture.idsQueued())).toEqual(ids);
  });

  test('nothing is claimed, and no woken webhook is forgotten', async () => {
    await fixture.poll();
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId);
    fixture.queue.fail('depth', 'addDeliveries');
    await expect(fixture.wakeUp(webhookId)).rejects.toThrow(QueueUnavailableError);
    expect(await fixture.leased()).toBe(0);
    fixture.queue.fail();
    await fixture.wakeUp();
    expect(fixture.idsQueued()).toEqual(ids);
  });

  test('released deliveries do not count as ended', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 100 });
    fixture.queue.fail('addDeliveries');
    for (let n = 0; n < 6; n += 1) await expect(fixture.poll()).rejects.toThrow(QueueUnavailableError);
    fixture.queue.fail();
    await fixture.poll();
    expect([fixture.jobs('fast').length, fixture.jobs('slow').length]).toEqual([1, 7]);
  });
});

describe('the depth of the lanes', () => {
  test('limits new jobs: a full lane takes none', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    for (const lane of ['fast', 'slow'] as const)
      fixture.queue.fill(lane, 'waiting', WAITING_MAX + WAITING_EXTRA);
    for (let n = 0; n < 15; n += 1) await fixture.poll();
    expect([fixture.queued(), await fixture.leased()]).toEqual([[], 0]);
    fixture.queue.fill('fast', 'waiting', WAITING_MAX + WAITING_EXTRA - 1);
    await fixture.untilSwept();
    expect(await fixture.leased()).toBe(1);
  });

  test('of one lane does not affect the other', async () => {
    const [failing, well] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, well]) await store.rows.deliveries(id, { count: 2 });
    fixture.queue.fill('slow', 'waiting', WAITING_MAX + WAITING_EXTRA);
    await fixture.untilSwept();
    expect(fixture.claims.flat().map(({ webhookId }) => webhookId)).toEqual([well]); // a new webhook has one delivery in the fast lane
    fixture.queue.fill('slow', 'waiting', 0);
    fixture.queue.fill('fast', 'waiting', WAITING_MAX + WAITING_EXTRA);
    await fixture.untilSwept();
    expect(fixture.claims.flat().filter(({ webhookId }) => webhookId === failing)).toHaveLength(2);
  });

  test('lets only due deliveries in while there are too many delayed jobs', async () => {
    const webhookId = await store.rows.webhook();
    const due = await store.rows.deliveries(webhookId);
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    fixture.queue.fill('slow', 'delayed', DELAYED_MAX);
    fixture.queue.fill('fast', 'delayed', 1);
    const early = await store.rows.webhook();
    await store.rows.deliveries(early, { dueInMs: 1_000 });
    await fixture.untilSwept();
    expect(fixture.idsQueued()).toEqual(due);
    expect(fixture.asked).toEqual([[webhookId]]);
  });

  test('shortens the look-ahead as delayed jobs grow', async () => {
    const webhookId = await store.rows.webhook();
    const [soon = ''] = await store.rows.deliveries(webhookId, { dueInMs: 25_000 });
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    fixture.queue.fill('slow', 'delayed', DELAYED_MAX / 2);
    await fixture.untilSwept();
    expect(fixture.idsQueued()).toEqual([soon]);
  });

  test('limits the delayed jobs of one claim to the free ones', async () => {
    for (let n = 0; n < 48; n += 1) {
      await store.rows.deliveries(await store.rows.webhook(), { count: 8, dueInMs: 8_900 });
    }
    fixture.queue.fill('slow', 'delayed', DELAYED_MAX - 300);
    await fixture.untilSwept();
    const delayed = fixture.queued().filter(({ delayMs }) => delayMs > 0);
    expect([delayed.length > 0, delayed.length <= 300]).toEqual([true, true]);
  });
});

describe('fairness', () => {
  test('a failing webhook gets four in the slow lane; a new one gets one in the fast lane', async () => {
    const [failing, fresh] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, fresh]) await store.rows.deliveries(id, { count: 30 });
    await fixture.poll();
    const laneOf = new Map(fixture.claims.flat().map((row) => [row.deliveryId, row.webhookId]));
    const count = (lane: Lane, id: WebhookId) =>
      fixture.jobs(lane).filter((job) => laneOf.get(job.deliveryId) === id).length;
    expect([count('fast', failing), count('slow', failing)]).toEqual([0, 4]);
    expect([count('fast', fresh), count('slow', fresh)]).toEqual([1, 7]);
  });

  test('the backlog of a flood stays in Postgres while other events are queued', async () => {
    const flooder = await store.rows.webhook();
    await store.rows.deliveries(flooder, { count: 3000, dueInMs: -60_000 });
    await fixture.poll();
    const quiet = await store.rows.webhook();
    const ids = await store.rows.deliveries(quiet);
    await fixture.wakeUp(quiet);
    expect(fixture.idsQueued()).toEqual(expect.arrayContaining(ids));
    expect(fixture.queued()).toHaveLength(FIRST_LIMIT + 1);
  });

  test('each of many busy webhooks is served when the workers keep up with only a few', async () => {
    const busy: WebhookId[] = [];
    for (let n = 0; n < 30; n += 1) busy.push(await store.rows.webhook());
    for (const id of busy) await store.rows.deliveries(id, { count: 100 });
    fixture.queue.fill('fast', 'waiting', WAITING_MAX - 3); // three may be added per pass
    fixture.queue.fill('slow', 'waiting', WAITING_MAX);
    const served = await work(60, () => fixture.wakeUp(...busy.slice(0, 10))); // these always have new events
    const counts = busy.map((id) => served.get(id) ?? 0);
    const mean = counts.reduce((sum, count) => sum + count, 0) / busy.length;
    expect(mean).toBeGreaterThanOrEqual(5);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(mean / 3);
  });

  test('webhooks with fresh events that keep the lanes full starve no other webhook', async () => {
    const chatty = [await store.rows.webhook(), await store.rows.webhook(), await store.rows.webhook()];
    const waiting = [await store.rows.webhook(), await store.rows.webhook()];
    for (const id of waiting) await store.rows.deliveries(id, { count: 100 });
    await work(3, async () => undefined); // the relay has seen them answer
    fixture.queue.fill('fast', 'waiting', WAITING_MAX - chatty.length);
    fixture.queue.fill('slow', 'waiting', WAITING_MAX);
    const served = await work(60, async () => {
      for (const id of chatty) await store.rows.deliveries(id);
      await fixture.wakeUp(...chatty);
    });
    expect(waiting.map((id) => (served.get(id) ?? 0) > 0)).toEqual([true, true]);
  });

  test('webhooks of one lane are served however many wait for the other', async () => {
    const failing: WebhookId[] = [];
    for (let n = 0; n < WEBHOOKS_PER_CLAIM + 300; n += 1)
      failing.push(await store.rows.webhook({ failing: true }));
    for (const id of failing) await store.rows.deliveries(id, { count: 12 });
    const well = await store.rows.webhook();
    await work(7, async () => fixture.polling.add(failing)); // the relay knows the health of each
    await store.rows.deliveries(well);
    await work(1, () => fixture.wakeUp(well));
    for (const lane of ['fast', 'slow'] as const) fixture.queue.fill(lane, 'waiting', WAITING_MAX);
    await fixture.untilSwept(); // afterwards the relay asks the queue for its depth
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    await store.rows.deliveries(well);
    fixture.polling.add([...failing, well]);
    await fixture.untilSwept();
    expect((await fixture.work('fast')).get(well)).toBe(1);
  });

  /** Runs `before` and the polling pass; then workers end all jobs. @returns the deliveries served per webhook */
  async function work(times: number, before: () => Promise<unknown>): Promise<Map<WebhookId, number>> {
    const served = new Map<WebhookId, number>();
    for (let n = 0; n < times; n += 1) {
      await before();
      await fixture.poll();
      for (const lane of ['fast', 'slow'] as const) {
        for (const [id, count] of await fixture.work(lane)) served.set(id, (served.get(id) ?? 0) + count);
      }
    }
    return served;
  }
});
