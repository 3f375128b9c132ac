import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { QueueUnavailableError } from '@postrider/queue';
import type { Lane } from '@postrider/queue';
import { DeliveryFixture } from '../../test/delivery-fixture.ts';
import { setupRelayStore } from '../../test/setup-relay-store.ts';

/** A lane with this many waiting jobs takes none: the fast one a sixth of the fixture's 1,024 slots. */
const WAITING_MAX = { fast: 170, slow: 128 };
const DELAYED_MAX = 2_000;
const FIRST_LIMIT = 8;

const store = setupRelayStore();
let fixture: DeliveryFixture;

beforeEach(() => void (fixture = new DeliveryFixture(store)));

const byNumber = (ids: readonly string[]) => [...ids].sort((a, b) => Number(a) - Number(b));

describe('lost work', () => {
  test('a job lost with Redis is added again when its lease expires', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    await fixture.step();
    fixture.queue.lose();
    await fixture.untilChecked();
    expect(fixture.queued()).toEqual([]);
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await fixture.untilChecked();
    expect(byNumber(fixture.idsQueued())).toEqual(ids);
    expect(fixture.queued().map(({ claim }) => claim)).toEqual([0, 0]);
    expect(fixture.leases.flat().map(({ leaseExpired }) => leaseExpired)).toEqual([false, false, true, true]);
  });

  test('another relay finds the leases of a relay that died', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await fixture.step();
    fixture.queue.lose();
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    ({ pass: fixture.pass, sweep: fixture.sweep } = fixture.newRelay());
    await fixture.step();
    expect(fixture.idsQueued()).toEqual(ids);
  });
});

describe('while the queue is unavailable', () => {
  test('deliveries that could not be queued are released at once, and queued when the queue is back', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    fixture.queue.fail('addDeliveries');
    await expect(fixture.step()).rejects.toThrow(QueueUnavailableError);
    expect(await fixture.leased()).toBe(0);
    fixture.queue.fail();
    await fixture.step();
    expect(byNumber(fixture.idsQueued())).toEqual(ids);
  });

  test('a release that fails does not hide the error of the queue', async () => {
    await store.rows.deliveries(await store.rows.webhook());
    fixture.queue.fail('addDeliveries');
    fixture.duringRelease = async () => Promise.reject(new Error('Postgres is away, too'));
    await expect(fixture.step()).rejects.toThrow(QueueUnavailableError);
  });

  test('the relay asks for the depth again before it leases more', async () => {
    await store.rows.deliveries(await store.rows.webhook());
    await fixture.step(); // knows the depth
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    fixture.queue.fail('addDeliveries');
    fixture.advance(1_000);
    await expect(fixture.wakeUp(webhookId)).rejects.toThrow(QueueUnavailableError);
    fixture.queue.fail('depth');
    fixture.advance(1_000);
    await expect(fixture.wakeUp(webhookId)).rejects.toThrow(QueueUnavailableError);
    expect(fixture.leases.flat()).toHaveLength(1);
  });

  test('nothing is claimed, and no woken webhook is forgotten', async () => {
    await fixture.step();
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
    for (let n = 0; n < 6; n += 1) await expect(fixture.step()).rejects.toThrow(QueueUnavailableError);
    fixture.queue.fail();
    await fixture.step();
    expect(fixture.jobs('fast')).toHaveLength(FIRST_LIMIT);
  });
});

describe('the depth of the lanes', () => {
  test('limits new jobs: a full lane takes none', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    fixture.queue.fill('fast', 'waiting', WAITING_MAX.fast);
    await fixture.untilChecked();
    expect([fixture.queued(), await fixture.leased()]).toEqual([[], 0]);
    fixture.queue.fill('fast', 'waiting', WAITING_MAX.fast - 2);
    await fixture.step();
    expect(byNumber(fixture.idsQueued())).toEqual(ids);
  });

  test('of one lane does not affect the other', async () => {
    const [failing, well] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    fixture.queue.fill('slow', 'waiting', WAITING_MAX.slow);
    await fixture.wakeUp(failing, well); // the relay learns which one fails
    for (const id of [failing, well]) await store.rows.deliveries(id, { count: 2 });
    await fixture.untilChecked();
    expect(fixture.leases.flat().map(({ webhookId }) => webhookId)).toEqual([well, well]);
    fixture.queue.fill('slow', 'waiting', 0);
    fixture.queue.fill('fast', 'waiting', WAITING_MAX.fast);
    await fixture.untilChecked();
    expect(fixture.leases.flat().filter(({ webhookId }) => webhookId === failing)).toHaveLength(2);
  });

  test('lets only due deliveries in while there are too many delayed jobs', async () => {
    const webhookId = await store.rows.webhook();
    const due = await store.rows.deliveries(webhookId);
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    fixture.queue.fill('slow', 'delayed', DELAYED_MAX);
    await store.rows.deliveries(await store.rows.webhook(), { dueInMs: 40_000 });
    await fixture.untilChecked();
    expect(fixture.idsQueued()).toEqual(due);
    fixture.queue.fill('slow', 'delayed', 0);
    const [early = ''] = await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    await fixture.wakeUp(webhookId);
    expect(fixture.idsQueued()).toContain(early);
  });

  test('limits the delayed jobs of one claim to the free ones', async () => {
    for (let n = 0; n < 48; n += 1) {
      await store.rows.deliveries(await store.rows.webhook(), { count: 8, dueInMs: 48_900 });
    }
    fixture.queue.fill('slow', 'delayed', DELAYED_MAX - 300);
    await fixture.untilChecked();
    const delayed = fixture.queued().filter(({ delayMs }) => delayMs > 0);
    expect([delayed.length > 0, delayed.length <= 300]).toEqual([true, true]);
  });
});

describe('fairness', () => {
  test('a failing webhook gets eight in the slow lane, a new one eight in the fast lane', async () => {
    const [failing, fresh] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, fresh]) await store.rows.deliveries(id, { count: 30 });
    await fixture.step();
    const ownerOf = new Map(fixture.leases.flat().map((row) => [row.deliveryId, row.webhookId]));
    const count = (lane: Lane, id: WebhookId) =>
      fixture.jobs(lane).filter((job) => ownerOf.get(job.deliveryId) === id).length;
    expect([count('fast', failing), count('slow', failing)]).toEqual([0, FIRST_LIMIT]);
    expect([count('fast', fresh), count('slow', fresh)]).toEqual([FIRST_LIMIT, 0]);
  });

  test('the backlog of a flood stays in Postgres while other events are queued', async () => {
    const flooder = await store.rows.webhook();
    await store.rows.deliveries(flooder, { count: 3000, dueInMs: -60_000 });
    await fixture.step();
    const quiet = await store.rows.webhook();
    const ids = await store.rows.deliveries(quiet);
    fixture.advance(1_000);
    await fixture.wakeUp(quiet);
    expect(fixture.idsQueued()).toEqual(expect.arrayContaining(ids));
    expect(fixture.queued()).toHaveLength(FIRST_LIMIT + 1);
  });

  test('each of many busy webhooks is served when the workers keep up with only a few', async () => {
    const busy: WebhookId[] = [];
    for (let n = 0; n < 100; n += 1) busy.push(await store.rows.webhook());
    for (const id of busy) await store.rows.deliveries(id, { count: 40 });
    fixture.queue.fill('fast', 'waiting', WAITING_MAX.fast / 2); // 85 may be added per pass
    const served = await work(25, () => fixture.wakeUp(...busy.slice(0, 10))); // these always have new events
    const counts = busy.map((id) => served.get(id) ?? 0);
    const mean = counts.reduce((sum, count) => sum + count, 0) / busy.length;
    expect(mean).toBeGreaterThanOrEqual(5);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(mean / 3);
  });

  test('webhooks with fresh events that keep the lanes full starve no other webhook', async () => {
    const chatty: WebhookId[] = [];
    for (let n = 0; n < 80; n += 1) chatty.push(await store.rows.webhook());
    const waiting = [await store.rows.webhook(), await store.rows.webhook()];
    for (const id of waiting) await store.rows.deliveries(id, { count: 100 });
    fixture.queue.fill('fast', 'waiting', WAITING_MAX.fast / 2);
    const served = await work(10, async () => {
      for (const id of chatty) await store.rows.deliveries(id);
      await fixture.wakeUp(...chatty);
    });
    expect(waiting.map((id) => (served.get(id) ?? 0) > 0)).toEqual([true, true]);
  });

  test('webhooks of one lane are served however many wait for the other', async () => {
    const failing: WebhookId[] = [];
    for (let n = 0; n < 300; n += 1) failing.push(await store.rows.webhook({ failing: true }));
    fixture.queue.fill('slow', 'waiting', WAITING_MAX.slow);
    await fixture.wakeUp(...failing);
    for (let n = 0; n < 5; n += 1) await fixture.step(); // the relay knows the health of each
    for (const id of failing) await store.rows.deliveries(id, { count: 12 });
    const well = await store.rows.webhook();
    await store.rows.deliveries(well);
    fixture.advance(1_000);
    await fixture.wakeUp(...failing, well);
    expect((await fixture.work('fast')).get(well)).toBe(1);
  });

  /** Runs `before` and the passes; then workers end all jobs. @returns the deliveries served per webhook */
  async function work(times: number, before: () => Promise<unknown>): Promise<Map<WebhookId, number>> {
    const served = new Map<WebhookId, number>();
    for (let n = 0; n < times; n += 1) {
      await before();
      await fixture.step();
      for (const lane of ['fast', 'slow'] as const) {
        for (const [id, count] of await fixture.work(lane)) served.set(id, (served.get(id) ?? 0) + count);
      }
    }
    return served;
  }
});
