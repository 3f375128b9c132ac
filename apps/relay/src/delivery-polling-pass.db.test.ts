import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import { BUSY_PAUSE_MS, DeliveryFixture } from '../test/delivery-fixture.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';

const WAITING_MAX = 128;
const FIRST_LIMIT = 8;
const SCAN_EVERY_MS = 250;
const SCAN_EVERY_MAX_MS = 2_000;

const store = setupRelayStore();
let fixture: DeliveryFixture;

beforeEach(() => void (fixture = new DeliveryFixture(store)));

const byNumber = (ids: readonly string[]) => [...ids].sort((a, b) => Number(a) - Number(b));

/** 2,300 webhooks with a delivery each. A step of a scan or a sweep reads a thousand. */
async function threeStepsOfWebhooks(dueIn: string): Promise<WebhookId[]> {
  const made = await store.database.query<{ webhook_id: WebhookId }>(
    `with many as (
       insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
       select 'wh_' || lpad(n::text, 5, '0'), $1, 'https://a.example/', 'k', '\\x01' from generate_series(1, 2300) n
       returning id)
     insert into deliveries (event_id, webhook_id, due_at) select 'evt_1', id, now() + $2::interval from many
     returning webhook_id`,
    [await store.rows.account(), dueIn],
  );
  return made.map(({ webhook_id }) => webhook_id);
}

describe('the polling pass', () => {
  test('queues due deliveries and those due soon, each with its delay and claim', async () => {
    const webhookId = await store.rows.webhook();
    const [due = ''] = await store.rows.deliveries(webhookId);
    const [soon = ''] = await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    await store.rows.deliveries(webhookId, { dueInMs: 120_000 });
    await fixture.poll();
    const delays = new Map(
      fixture.queued().map(({ deliveryId, claim, delayMs }) => [`${deliveryId} ${claim}`, delayMs]),
    );
    expect([...delays.keys()].sort()).toEqual([`${due} 0`, `${soon} 0`].sort());
    expect(delays.get(`${due} 0`)).toBe(0);
    expect(delays.get(`${soon} 0`)).toBeGreaterThan(0);
    expect(delays.get(`${soon} 0`)).toBeLessThanOrEqual(50_000);
    expect(await fixture.leased()).toBe(2);
  });

  test('does not ask the queue while no delivery is known', async () => {
    fixture.queue.fail('depth');
    expect(await fixture.polling.run()).toBeGreaterThan(BUSY_PAUSE_MS);
  });

  test('groups the deliveries of one webhook', async () => {
    const webhooks = [await store.rows.webhook(), await store.rows.webhook()];
    const groupOf = new Map<string, string>();
    for (const id of [...webhooks, ...webhooks]) {
      for (const deliveryId of await store.rows.deliveries(id)) groupOf.set(deliveryId, id);
    }
    await fixture.poll();
    expect(new Map(fixture.queued().map(({ deliveryId, group }) => [deliveryId, group]))).toEqual(groupOf);
  });

  test('gives late deliveries low priority in the fast lane, and none in the slow lane', async () => {
    const wishes = [{ dueInMs: 0 }, { dueInMs: -60_000 }, { dueInMs: 5_000, attempts: 1 }];
    const ids: (string | undefined)[] = [];
    for (const wish of wishes) ids.push(...(await store.rows.deliveries(await store.rows.webhook(), wish)));
    await store.rows.deliveries(await store.rows.webhook({ failing: true }), { dueInMs: -60_000 });
    await fixture.poll();
    const seen = new Map(
      fixture.jobs('fast').map(({ deliveryId, lowPriority }) => [deliveryId, lowPriority]),
    );
    expect(ids.map((id) => seen.get(id ?? ''))).toEqual([false, true, true]);
    expect(fixture.jobs('slow').map(({ lowPriority }) => lowPriority)).toEqual([false]);
  });

  test('claims for at most 48 webhooks at once', async () => {
    const ids: WebhookId[] = [];
    for (let n = 0; n < 100; n += 1) ids.push(await store.rows.webhook());
    for (const id of ids) await store.rows.deliveries(id, { dueInMs: 5_000, attempts: 1 });
    await fixture.poll();
    expect(fixture.claims.map((claimed) => claimed.length)).toEqual([48, 48, 4]);
  });

  test('does not queue a leased delivery again', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    for (let n = 0; n < 3; n += 1) await fixture.untilSwept();
    expect(fixture.queued()).toHaveLength(3);
    expect(fixture.claims.flat()).toHaveLength(3);
  });

  test('reads behind a leased first delivery only after a sweep', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    for (let n = 0; n < 12; n += 1) await fixture.poll(); // served; afterwards only scan and sweep find it
    await store.rows.deliveries(webhookId); // no wake-up
    await fixture.untilScanned();
    await fixture.poll();
    expect(fixture.queued()).toHaveLength(1);
    await fixture.untilSwept();
    expect(fixture.queued()).toHaveLength(2);
  });

  test('reads behind the first delivery of a webhook at its limit after each scan', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 20 });
    await fixture.poll();
    const [first = '', ...others] = byNumber(fixture.idsQueued());
    for (let n = 0; n < 12; n += 1) await fixture.poll(); // at its limit: nothing to claim
    await store.database.query('delete from deliveries where id = any ($1)', [others]);
    const before = fixture.claims.flat().length;
    await fixture.untilScanned();
    await fixture.poll();
    expect(fixture.claims.flat().length).toBeGreaterThan(before);
    expect(fixture.claims.flat().filter(({ deliveryId }) => deliveryId === first)).toHaveLength(1);
  });

  test('claims from the first due delivery of a webhook at its limit; a sweep finds earlier ones', async () => {
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId, { count: 40 });
    await fixture.poll(); // sweeps, scans, and reaches the limit
    const [early = ''] = await store.rows.deliveries(webhookId, { dueInMs: -60_000 });
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    const { scans } = fixture;
    fixture.polling.add([webhookId]);
    await fixture.poll();
    expect(fixture.scans).toBe(scans);
    expect(ids).toEqual(expect.arrayContaining(fixture.idsQueued()));
    expect(fixture.queued().length).toBeGreaterThan(0);
    await fixture.untilSwept();
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    await fixture.poll();
    expect(fixture.claims.flat().map(({ deliveryId }) => deliveryId)).toContain(early);
  });

  test('claims behind ended deliveries, also when nothing is outstanding', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { dueInMs: -60_000 });
    await fixture.wakeUp(webhookId);
    expect(fixture.claimedFrom.get(webhookId)).toBeNull(); // the relay does not know the webhook yet
    await fixture.work('fast');
    await fixture.untilScanned();
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId);
    const [row] = await store.database.query<{ later: boolean }>(
      `select $1::timestamptz > now() - interval '50 s' as later`,
      [fixture.claimedFrom.get(webhookId)?.dueAt],
    );
    expect([row?.later, fixture.queued().length]).toEqual([true, 1]);
  });

  test('finds deliveries that a slow transaction commits before scanFrom, with the next sweep', async () => {
    const webhookId = await store.rows.webhook();
    await fixture.wakeUp(webhookId);
    await fixture.untilScanned();
    await store.rows.deliveries(webhookId, { dueInMs: -60_000 });
    await fixture.wakeUp(webhookId);
    expect(fixture.queued()).toHaveLength(0);
    await fixture.untilSwept();
    expect(fixture.queued()).toHaveLength(1);
  });

  test('moves a webhook with hanging attempts to the slow lane, also after all timed out', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 40 });
    await fixture.poll();
    await Promise.all([fixture.work('fast'), fixture.work('slow')]); // the webhook is healthy now
    await fixture.untilScanned();
    const hanging = fixture.queue.take('fast').length + fixture.queue.take('slow').length;
    const takenAgo = (seconds: number) =>
      store.database.query(
        'update deliveries set taken_at = now() - make_interval(secs => $1) where leased_until > now()',
        [seconds],
      );
    await takenAgo(2);
    await fixture.untilScanned();
    await fixture.untilScanned();
    await store.database.query('delete from deliveries where leased_until > now()');
    await fixture.untilScanned();
    expect([hanging > 0, fixture.jobs('fast').length, fixture.jobs('slow').length > 0]).toEqual([
      true,
      0,
      true,
    ]);
  });

  test('keeps a webhook in its lane after one stuck scan', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 40 });
    await fixture.poll();
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    await fixture.untilScanned();
    fixture.queue.take('fast');
    await store.database.query(
      `update deliveries set taken_at = now() - interval '2 s' where leased_until > now()`,
    );
    await fixture.untilScanned();
    fixture.queue.take('slow'); // claimed while the webhook was slow
    await store.database.query('delete from deliveries where leased_until > now()');
    await fixture.untilScanned();
    expect([fixture.jobs('fast').length > 0, fixture.jobs('slow').length]).toEqual([true, 0]);
  });

  test('adds extra jobs to a filled lane after each scan', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 4 });
    await fixture.poll();
    await Promise.all([fixture.work('fast'), fixture.work('slow')]);
    await store.rows.deliveries(webhookId);
    await fixture.untilSwept(); // the relay has seen it answer
    await fixture.work('fast');
    fixture.queue.fill('fast', 'waiting', WAITING_MAX / 2 + 1);
    await fixture.untilSwept(); // afterwards the relay asks the queue for its depth
    const [waits = ''] = await store.rows.deliveries(webhookId);
    fixture.polling.add([webhookId]);
    await fixture.poll();
    expect(fixture.idsQueued()).toEqual([]);
    await fixture.untilSwept();
    expect(fixture.idsQueued()).toEqual([waits]);
  });

  test('leaves webhooks with a running claim to the next run', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 2 });
    fixture.duringClaim = async () => {
      fixture.polling.add([webhookId]);
      await fixture.poll();
      expect(fixture.asked).toHaveLength(1);
    };
    await fixture.wakeUp(webhookId);
    await fixture.poll();
    expect(fixture.asked).toEqual([[webhookId], [webhookId]]);
  });

  test('pauses briefly while there is work, and until the next scan when there is none', async () => {
    await fixture.poll();
    const idle = await fixture.poll();
    expect(idle).toBeGreaterThanOrEqual(1);
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 20 });
    fixture.polling.add([webhookId]);
    expect(await fixture.poll()).toBe(BUSY_PAUSE_MS);
  });

  test.each([
    [1, SCAN_EVERY_MS],
    [10, 500],
    [100, 2_000],
  ])('after a scan that took %i ms asks for a rest of %i ms', async (tookMs, restMs) => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await fixture.wakeUp(webhookId);
    fixture.duringScan = () => fixture.advance(tookMs);
    expect(await fixture.poll()).toBe(restMs);
  });

  test('counts the time of all steps of a scan', async () => {
    const webhooks = await threeStepsOfWebhooks('1 h');
    while (webhooks.length > 0) await fixture.wakeUp(...webhooks.splice(0, 500));
    for (let n = 0; n < 15; n += 1) await fixture.poll(); // nothing is due: only scan and sweep find them
    fixture.advance(SCAN_EVERY_MAX_MS);
    fixture.duringScan = () => fixture.advance(10);
    const pauses = [await fixture.poll(), await fixture.poll(), await fixture.poll()];
    expect(pauses).toEqual([BUSY_PAUSE_MS, BUSY_PAUSE_MS, 1_500]);
  });

  test('scans webhooks again after a failed scan', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { dueInMs: 70_000 }); // no sweep finds it
    await fixture.wakeUp(webhookId);
    fixture.duringScan = () => {
      fixture.duringScan = () => undefined;
      throw new Error('the database is away');
    };
    await expect(fixture.untilScanned()).rejects.toThrow('the database is away');
    await store.database.query('update deliveries set due_at = now()');
    await fixture.untilScanned();
    expect(fixture.queued()).toHaveLength(1);
  });

  test('keeps a webhook that gets a delivery during the scan', async () => {
    const webhookId = await store.rows.webhook();
    await fixture.wakeUp(webhookId);
    fixture.afterScan = async () => {
      fixture.afterScan = async () => undefined;
      await store.rows.deliveries(webhookId, { dueInMs: 70_000 }); // no sweep finds it
      await fixture.wakeUp(webhookId);
    };
    await fixture.untilScanned();
    await store.database.query('update deliveries set due_at = now()');
    await fixture.untilScanned();
    expect(fixture.queued()).toHaveLength(1);
  });

  test('does not repeat a claim for a webhook below its limit that got nothing', async () => {
    const webhookId = await store.rows.webhook();
    fixture.polling.add([webhookId]);
    for (let n = 0; n < 20; n += 1) await fixture.poll();
    expect(fixture.asked).toEqual([[webhookId]]);
  });

  test('repeats the claim for a webhook at its limit, because deliveries may end soon', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: FIRST_LIMIT });
    fixture.polling.add([webhookId]);
    for (let n = 0; n < 20; n += 1) await fixture.poll();
    expect(fixture.asked).toEqual(Array.from({ length: 12 }, () => [webhookId]));
  });

  test('leaves webhooks of a full lane to the next scan, served or not', async () => {
    for (let n = 0; n < 3; n += 1) await store.rows.deliveries(await store.rows.webhook());
    fixture.queue.fill('fast', 'waiting', WAITING_MAX - 1);
    await fixture.poll();
    expect(fixture.queued()).toHaveLength(1);
    for (let n = 0; n < 3; n += 1) await fixture.poll();
    expect(fixture.asked).toHaveLength(1);
  });

  test('does not repeat a claim for a webhook that got everything', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 3 });
    fixture.polling.add([webhookId]);
    expect(await fixture.poll()).toBeGreaterThan(BUSY_PAUSE_MS);
    expect(fixture.queued()).toHaveLength(3);
    await fixture.poll();
    expect(fixture.asked).toEqual([[webhookId]]);
  });

  test('does not count delayed jobs as a full lane', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    fixture.queue.fill('fast', 'waiting', WAITING_MAX - 2);
    fixture.polling.add([webhookId]);
    for (let n = 0; n < 2; n += 1) await fixture.poll();
    expect([fixture.asked.length, fixture.queued().length]).toEqual([1, 2]);
  });

  test('finds deliveries without a wake-up', async () => {
    await fixture.untilSwept();
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await fixture.untilSwept();
    expect(fixture.idsQueued()).toEqual(ids);
  });

  test('sweeps in the next run when a wake-up may have been missed', async () => {
    await fixture.poll();
    const before = fixture.sweeps;
    fixture.sweep.restart();
    await fixture.poll();
    expect(fixture.sweeps).toBe(before + 1);
  });

  test('sweeps again when a wake-up may have been missed during a sweep', async () => {
    fixture.duringSweep = () => fixture.sweep.restart();
    await fixture.untilSwept();
    fixture.duringSweep = () => undefined;
    const before = fixture.sweeps;
    await fixture.poll();
    expect(fixture.sweeps).toBe(before + 1);
  });

  test('keeps a webhook that is added during a scan', async () => {
    const [known, noted] = [await store.rows.webhook(), await store.rows.webhook()];
    await store.rows.deliveries(known, { dueInMs: 70_000 });
    await fixture.wakeUp(known);
    fixture.afterScan = async () => fixture.polling.add([noted]);
    await fixture.untilScanned();
    expect(fixture.asked.at(-1)).toContain(noted);
  });

  test.each([
    ['sweeps more webhooks than one step holds', () => undefined],
    [
      'continues a sweep to its end, however often a wake-up may have been missed',
      () => fixture.sweep.restart(),
    ],
  ])('%s', async (_, beforePoll) => {
    await threeStepsOfWebhooks('0 s');
    await waitFor(
      async () => {
        beforePoll();
        await fixture.poll();
        fixture.queue.lose();
        return fixture.claims.flat().length === 2300;
      },
      { what: 'every webhook to be claimed for' },
    );
    expect(new Set(fixture.claims.flat().map(({ webhookId }) => webhookId)).size).toBe(2300);
  });
});
