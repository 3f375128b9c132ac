import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { DeliveryFixture } from '../../test/delivery-fixture.ts';
import { setupRelayStore } from '../../test/setup-relay-store.ts';

const FIRST_LIMIT = 8;
const WEBHOOKS_PER_LANE = 64;

const store = setupRelayStore();
let fixture: DeliveryFixture;

beforeEach(() => void (fixture = new DeliveryFixture(store)));

const byNumber = (ids: readonly string[]) => [...ids].sort((a, b) => Number(a) - Number(b));

/** As if a worker had taken all leased deliveries so many seconds ago. */
async function takenAgo(seconds: number): Promise<void> {
  await store.database.query(
    'update deliveries set taken_at = now() - make_interval(secs => $1) where leased_until is not null',
    [seconds],
  );
}

describe('a woken webhook', () => {
  test('has its due deliveries queued, with the claim of each', async () => {
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId, { count: 2 });
    await fixture.wakeUp(webhookId);
    expect(byNumber(fixture.idsQueued())).toEqual(ids);
    const job = { claim: 0, delayMs: 0, alone: false };
    expect(fixture.jobs('fast')).toMatchObject([job, job]);
  });

  test('has those that are due within a minute queued with a delay', async () => {
    const webhookId = await store.rows.webhook();
    const [soon] = await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    await store.rows.deliveries(webhookId, { dueInMs: 70_000 });
    await fixture.wakeUp(webhookId);
    expect(fixture.idsQueued()).toEqual([soon]);
    const [job] = fixture.queued();
    expect(job?.delayMs).toBeGreaterThan(40_000);
    expect(job?.delayMs).toBeLessThanOrEqual(50_000);
  });

  test('has no more queued by one claim than the share of an account, nor have several together', async () => {
    fixture.fleetSlots = 64;
    const webhooks: WebhookId[] = [];
    for (let account = 0; account < 5; account += 1) webhooks.push(await store.rows.webhook());
    for (const id of webhooks) await store.rows.deliveries(id, { count: FIRST_LIMIT });
    await fixture.wakeUp(...webhooks);
    expect(fixture.queued()).toHaveLength(16);
    fixture.advance(10);
    await fixture.pass.run();
    expect(fixture.queued()).toHaveLength(32);
  });

  test('is claimed for alone', async () => {
    const [woken, other] = [await store.rows.webhook(), await store.rows.webhook()];
    for (const id of [woken, other]) await store.rows.deliveries(id);
    await fixture.wakeUp(woken);
    expect(fixture.asked.flat().map(({ webhookId }) => webhookId)).toEqual([woken]);
  });

  test('is claimed for again when it is woken during a claim', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    fixture.duringClaim = async () => fixture.pass.addWoken([webhookId]);
    await fixture.wakeUp(webhookId);
    fixture.advance(1_000);
    await fixture.pass.run();
    expect(fixture.asked).toHaveLength(2);
    fixture.advance(10);
    await fixture.pass.run();
    expect(fixture.asked).toHaveLength(2);
  });

  test('is claimed for from where a sweep found it during a claim', async () => {
    const webhookId = await store.rows.webhook();
    const [deliveryId = ''] = await store.rows.deliveries(webhookId, { dueInMs: -60_000 });
    const lowWaterMark = { dueAt: '2025-01-01 00:00:00+00', deliveryId };
    fixture.duringClaim = async () => fixture.pass.addFound([{ webhookId, dueInMs: -60_000, lowWaterMark }]);
    await fixture.wakeUp(webhookId);
    fixture.advance(1_000);
    await fixture.pass.run();
    expect(fixture.asked.at(-1)).toMatchObject([{ webhookId, lowWaterMark }]);
  });

  test('that was removed gets nothing, and is forgotten', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await store.database.query('update webhooks set removed_at = now()');
    await fixture.wakeUp(webhookId);
    expect(fixture.queued()).toEqual([]);
    await fixture.untilChecked();
    expect(await fixture.leased()).toBe(0);
  });
});

describe('without a wake-up', () => {
  test('a due delivery is found by the sweep', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await fixture.step();
    expect(fixture.idsQueued()).toEqual(ids);
  });

  test('a delivery of a known webhook is found within two seconds', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId);
    const [late] = await store.rows.deliveries(webhookId);
    await fixture.untilChecked();
    expect(fixture.idsQueued()).toContain(late);
  });

  test('a retry is queued when it comes within the look-ahead', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { dueInMs: 90_000 });
    await fixture.wakeUp(webhookId);
    await store.database.query(`update deliveries set due_at = due_at - interval '30 s'`);
    fixture.advance(29_000);
    await fixture.pass.run();
    expect(fixture.queued()).toEqual([]);
    fixture.advance(1_000);
    await fixture.pass.run();
    expect(fixture.queued()).toHaveLength(1);
  });

  test('a delivery that a slow transaction commits before the known position is found by the next sweep', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId);
    const [hidden] = await store.rows.deliveries(webhookId, { dueInMs: -60_000 });
    await fixture.wakeUp(webhookId);
    expect(fixture.idsQueued()).not.toContain(hidden);
    await fixture.untilChecked();
    expect(fixture.idsQueued()).toContain(hidden);
  });
});

describe('a webhook with a backlog', () => {
  test('has its first limit queued, and more as its deliveries end', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 200 });
    await fixture.wakeUp(webhookId);
    expect(fixture.jobs('fast')).toHaveLength(FIRST_LIMIT);
    await fixture.work('fast');
    for (let n = 0; n < 3; n += 1) await fixture.step();
    expect(fixture.jobs('fast')).toHaveLength(3 * FIRST_LIMIT);
  });

  test('gets nothing while as many are in flight as may be, whoever leased them', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 30 });
    await fixture.wakeUp(webhookId);
    const { pass } = fixture.newRelay();
    pass.addWoken([webhookId]);
    await pass.run();
    await fixture.untilChecked();
    expect(await fixture.leased()).toBe(FIRST_LIMIT);
  });

  test('is claimed for behind its deliveries in flight', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 2 });
    await fixture.wakeUp(webhookId);
    const [fresh] = await store.rows.deliveries(webhookId);
    fixture.advance(1_000);
    await fixture.wakeUp(webhookId);
    expect(fixture.idsQueued()).toContain(fresh);
  });
});

describe('a webhook whose attempts hang', () => {
  test('uses the slow lane, one delivery a job, until one that was leased there ends in time', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 200 });
    await fixture.wakeUp(webhookId);
    await takenAgo(4);
    await fixture.untilChecked(); // sees it hang
    await store.database.query('delete from deliveries where leased_until is not null'); // as if they had timed out
    await fixture.untilChecked();
    expect(fixture.jobs('slow').length).toBeGreaterThanOrEqual(FIRST_LIMIT);
    expect(fixture.jobs('slow').every(({ alone }) => alone)).toBe(true);
    fixture.queue.take('fast');
    await fixture.work('slow');
    await fixture.untilChecked(); // sees that they have ended
    await fixture.work('slow');
    await fixture.untilChecked();
    expect(fixture.jobs('fast').length).toBeGreaterThan(0);
  });

  test('stays in the fast lane while its attempts take two seconds', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 40 });
    await fixture.wakeUp(webhookId);
    await takenAgo(2);
    await fixture.untilChecked();
    await store.database.query('delete from deliveries where leased_until is not null');
    await fixture.untilChecked();
    expect(fixture.jobs('fast').length).toBeGreaterThan(FIRST_LIMIT);
    expect(fixture.jobs('slow')).toEqual([]);
  });

  test('stays in the fast lane while few of them hang', async () => {
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId, { count: 40 });
    await fixture.wakeUp(webhookId);
    await takenAgo(0);
    await store.database.query(`update deliveries set taken_at = now() - interval '4 s' where id = $1`, [
      ids[0],
    ]);
    await store.database.query('delete from deliveries where id = any ($1)', [ids.slice(1, FIRST_LIMIT)]);
    await fixture.untilChecked();
    expect(fixture.jobs('slow')).toEqual([]);
  });
});

test('the deliveries of a worker that died are queued again at the next check', async () => {
  const webhookId = await store.rows.webhook();
  const ids = await store.rows.deliveries(webhookId, { count: 2 });
  await fixture.wakeUp(webhookId);
  await store.database.query('update deliveries set taken_at = now(), claim = 1, worker = 7 where id = $1', [
    ids[0],
  ]);
  fixture.queue.take('fast');
  await fixture.untilChecked();
  expect(fixture.idsQueued()).toEqual([]);
  fixture.deadWorkers = [{ number: 7, diedBefore: '-infinity' }];
  await fixture.untilChecked();
  expect(fixture.idsQueued()).toEqual([ids[0]]);
});

describe('a run', () => {
  test('claims for 64 webhooks of a lane', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < WEBHOOKS_PER_LANE + 6; n += 1) webhooks.push(await store.rows.webhook());
    await fixture.wakeUp(...webhooks);
    fixture.advance(1_000);
    await fixture.pass.run();
    expect(fixture.asked.map((requests) => requests.length)).toEqual([WEBHOOKS_PER_LANE, 6]);
  });

  test('pauses for 10 ms while there is work, else until the next check', async () => {
    expect(await fixture.pass.run()).toBe(60_000);
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 20 });
    expect(await fixture.wakeUp(webhookId)).toBe(10);
    const other = await store.rows.webhook();
    await store.rows.deliveries(other);
    fixture = new DeliveryFixture(store);
    expect(await fixture.wakeUp(other)).toBe(500);
  });

  test('rests as long as its claim took, also when it is woken', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    fixture.duringClaim = async () => fixture.advance(40);
    fixture.queue.onNextDeliveries(async () => fixture.advance(10));
    await fixture.wakeUp(webhookId);
    fixture.advance(15);
    expect(await fixture.wakeUp(await store.rows.webhook())).toBe(15);
    fixture.advance(15);
    await fixture.pass.run();
    expect(fixture.asked).toHaveLength(2);
  });

  test('that fails keeps its webhooks', async () => {
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId);
    fixture.duringClaim = async () => Promise.reject(new Error('Postgres is away'));
    await expect(fixture.wakeUp(webhookId)).rejects.toThrow('away');
    await fixture.pass.run();
    expect(fixture.idsQueued()).toEqual(ids);
  });

  test('does not ask the queue when nothing is to be done', async () => {
    fixture.queue.fail('depth');
    expect(await fixture.pass.run()).toBe(60_000);
  });
});
