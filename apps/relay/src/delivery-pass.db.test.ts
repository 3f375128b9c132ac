import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { QueueUnavailableError } from '@postrider/queue';
import type { DeliveryJob, Lane, Timed } from '@postrider/queue';
import { createDeliveryTimetable, createDeliveryWork } from '@postrider/store';
import type { ClaimedDelivery } from '@postrider/store';
import { waitFor } from '@postrider/testing';
import { inMemoryQueue } from '../test/in-memory-queue.ts';
import type { InMemoryQueue } from '../test/in-memory-queue.ts';
import { openRelayStore } from '../test/open-relay-store.ts';
import type { RelayStore } from '../test/open-relay-store.ts';
import { createDeliveryPass } from './delivery-pass.ts';
import type { DeliveryPass } from './delivery-pass.ts';

const WAITING_MAX = 128;
const WEBHOOKS_PER_CLAIM = 500;
const HELD_TOO_EVERY_ROUNDS = 8;
const DELAYED_MAX = 20_000;

let store: RelayStore;
let queue: InMemoryQueue;
let pass: DeliveryPass;
let claims: (readonly ClaimedDelivery[])[];
/** How often the store was asked to walk. */
let walks: number;

beforeAll(async () => void (store = await openRelayStore()));
afterAll(() => store.close());
beforeEach(async () => {
  await store.rows.clear();
  queue = inMemoryQueue();
  claims = [];
  walks = 0;
  pass = newPass();
});

function newPass(): DeliveryPass {
  const timetable = createDeliveryTimetable(store.pool);
  return createDeliveryPass({
    store: {
      ...timetable,
      walk: async (...args) => {
        walks += 1;
        return timetable.walk(...args);
      },
    },
    queue,
    leaseSeconds: 30,
    onClaim: (claimed) => claims.push(claimed),
  });
}

function jobs(lane: Lane): Timed<DeliveryJob>[] {
  return queue.jobs(lane) as Timed<DeliveryJob>[];
}

const queued = () => [...jobs('fast'), ...jobs('slow')];
const idsQueued = () => queued().map(({ deliveryId }) => deliveryId);
const byNumber = (ids: readonly string[]) => [...ids].sort((a, b) => Number(a) - Number(b));

async function leased(): Promise<number> {
  const found = await store.database.query('select from deliveries where leased_until > now()');
  return found.length;
}

/** Turns until the pass has walked once more. */
async function untilWalked(): Promise<void> {
  const before = walks;
  await waitFor(
    async () => {
      await pass.turn();
      return walks > before;
    },
    { what: 'a turn that walks' },
  );
}

/** What workers would do with the jobs of a lane: take the rows and end them with a 200. */
async function work(lane: Lane): Promise<Map<WebhookId, number>> {
  const worker = createDeliveryWork(store.pool, store.pool);
  const taken = await worker.take(queue.take(lane) as Timed<DeliveryJob>[], 30);
  const times = { startedAgoMs: 1, endedAgoMs: 0, durationMs: 1 };
  await worker.done(taken.map((delivery) => ({ ...delivery, ...times, statusCode: 200, answer: null })));
  const served = new Map<WebhookId, number>();
  for (const { webhookId } of taken) served.set(webhookId, (served.get(webhookId) ?? 0) + 1);
  return served;
}

describe('a turn', () => {
  test('puts what is due and what is due soon on the timetable, each with its delay, under its claim', async () => {
    const webhookId = await store.rows.webhook();
    const [due = ''] = await store.rows.deliveries(webhookId);
    const [soon = ''] = await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    await store.rows.deliveries(webhookId, { dueInMs: 120_000 });
    await pass.turn();
    const delays = new Map(
      queued().map(({ deliveryId, claim, delayMs }) => [`${deliveryId} ${claim}`, delayMs]),
    );
    expect([...delays.keys()].sort()).toEqual([`${due} 0`, `${soon} 0`].sort());
    expect(delays.get(`${due} 0`)).toBe(0);
    expect(delays.get(`${soon} 0`)).toBeGreaterThan(0);
    expect(delays.get(`${soon} 0`)).toBeLessThanOrEqual(50_000);
    expect(await leased()).toBe(2);
  });

  test('leaves what it has put there alone, however often it comes round', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    for (let n = 0; n < 3; n += 1) await untilWalked();
    expect(queued()).toHaveLength(3);
    expect(claims.flat()).toHaveLength(3);
  });

  test('for webhooks with news claims at once, without waiting for the walk', async () => {
    await untilWalked();
    const before = walks;
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId, { count: 2 });
    pass.note([webhookId]);
    await pass.turn();
    expect(byNumber(idsQueued())).toEqual(ids);
    expect(walks - before).toBeLessThanOrEqual(1);
    expect(claims.at(-1)).toHaveLength(2);
  });

  test('over many webhooks serves in between those that have news meanwhile', async () => {
    for (let n = 0; n < WEBHOOKS_PER_CLAIM + 1; n += 1) {
      await store.rows.deliveries(await store.rows.webhook(), { dueInMs: 50_000 });
    }
    const newcomer = await store.rows.webhook();
    queue.onNextDeliveries(async () => {
      await store.rows.deliveries(newcomer);
      pass.note([newcomer]);
    });
    pass.noteEverything();
    await pass.turn();
    expect(claims).toHaveLength(2);
    expect(claims[1]?.map(({ webhookId }) => webhookId)).toContain(newcomer);
  });

  test('looks at webhooks whose first delivery is in hand only every eighth round', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    for (let n = 0; n < 12; n += 1) await pass.turn(); // served, and then left to the walk
    const asked: number[] = [];
    await store.rows.deliveries(webhookId); // nobody is told
    for (let n = 0; n < 2 * HELD_TOO_EVERY_ROUNDS && queued().length < 2; n += 1) {
      asked.push(n);
      await untilWalked();
    }
    expect(queued()).toHaveLength(2);
    expect(asked.length).toBeGreaterThan(1);
  });

  test('with a room that was full looks behind the first delivery in every round', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 20 });
    await pass.turn();
    const [first = '', ...others] = byNumber(idsQueued());
    for (let n = 0; n < 12; n += 1) await pass.turn(); // the room is full: nothing to claim, and left to the walk
    await store.database.query('delete from deliveries where id = any ($1)', [others]);
    const before = claims.flat().length;
    const walked = walks;
    while (claims.flat().length === before && walks < walked + 2) await untilWalked();
    expect(claims.flat().length).toBeGreaterThan(before);
    expect(claims.flat().filter(({ deliveryId }) => deliveryId === first)).toHaveLength(1);
  });

  test('gives a webhook whose attempts hung the slow lane, also when all of them have run out of time', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 40 });
    await pass.turn();
    await Promise.all([work('fast'), work('slow')]); // it is proven now
    await untilWalked();
    const hanging = queue.take('fast').length + queue.take('slow').length;
    const takenAgo = (seconds: number) =>
      store.database.query(
        'update deliveries set taken_at = now() - make_interval(secs => $1) where leased_until > now()',
        [seconds],
      );
    await takenAgo(2);
    await untilWalked();
    await untilWalked();
    await store.database.query('delete from deliveries where leased_until > now()');
    await untilWalked();
    expect([hanging > 0, jobs('fast').length, jobs('slow').length > 0]).toEqual([true, 0, true]);
  });

  test('thinks nothing bad of a webhook that was seen to be slow only once', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 40 });
    await pass.turn();
    await Promise.all([work('fast'), work('slow')]);
    await untilWalked();
    queue.take('fast');
    await store.database.query(
      `update deliveries set taken_at = now() - interval '2 s' where leased_until > now()`,
    );
    await untilWalked();
    queue.take('slow'); // what was claimed while it was slow
    await store.database.query('delete from deliveries where leased_until > now()');
    await untilWalked();
    expect([jobs('fast').length > 0, jobs('slow').length]).toEqual([true, 0]);
  });

  test('does not fill up a lane that has enough, but for webhooks with news', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 4 });
    await pass.turn();
    await Promise.all([work('fast'), work('slow')]);
    await store.rows.deliveries(webhookId);
    await untilWalked(); // it has been seen to answer
    await work('fast');
    queue.fill('fast', 'waiting', WAITING_MAX / 2 + 1);
    await untilWalked(); // what was known of the queue is old by now
    const [waits = ''] = await store.rows.deliveries(webhookId);
    await untilWalked();
    expect(idsQueued()).toEqual([]);
    pass.note([webhookId]);
    await pass.turn();
    expect(idsQueued()).toEqual([waits]);
  });

  test('takes no more than half of a claim for those with news while others wait', async () => {
    for (let n = 0; n < 10; n += 1)
      await store.rows.deliveries(await store.rows.webhook(), { dueInMs: 50_000 });
    const absent = Array.from({ length: 2 * WEBHOOKS_PER_CLAIM }, (_, n) => `wh_absent_${n}` as WebhookId);
    pass.noteEverything();
    pass.note(absent);
    await pass.turn();
    expect(claims[0]).toHaveLength(10);
  });

  test('asks for a short pause while there is work, and for the next walk when there is none', async () => {
    await pass.turn();
    const idle = await pass.turn();
    expect(idle).toBeGreaterThanOrEqual(1);
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    pass.note([webhookId]);
    expect(await pass.turn()).toBeGreaterThanOrEqual(15);
  });

  test('finds by itself what nobody told it of', async () => {
    await untilWalked();
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await untilWalked();
    expect(idsQueued()).toEqual(ids);
  });

  test('told that something may have been missed looks at everything in the next turn', async () => {
    await pass.turn();
    const before = walks;
    pass.noteEverything();
    await pass.turn();
    expect(walks).toBe(before + 1);
  });

  test('walks over more webhooks than one step holds', async () => {
    await store.database.query(
      `with many as (
         insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
         select 'wh_' || lpad(n::text, 5, '0'), $1, 'https://a.example/', 'k', '\\x01' from generate_series(1, 2300) n
         returning id)
       insert into deliveries (event_id, webhook_id) select 'evt_1', id from many`,
      [await store.rows.account()],
    );
    await waitFor(
      async () => {
        await pass.turn();
        queue.lose();
        return claims.flat().length === 2300;
      },
      { what: 'every webhook to be claimed for' },
    );
    expect(new Set(claims.flat().map(({ webhookId }) => webhookId)).size).toBe(2300);
  });
});

describe('what was lost', () => {
  test('a job that went with Redis is found by the walk once its lease ran out, under the same claim', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    await pass.turn();
    queue.lose();
    await untilWalked();
    expect(queued()).toEqual([]);
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await untilWalked();
    expect(byNumber(idsQueued())).toEqual(ids);
    expect(queued().map(({ claim }) => claim)).toEqual([0, 0]);
    expect(claims.flat().map(({ lapsed }) => lapsed)).toEqual([false, false, true, true]);
  });

  test('what a relay leased that has died is found by another', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook());
    await pass.turn();
    queue.lose();
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    pass = newPass();
    await pass.turn();
    expect(idsQueued()).toEqual(ids);
  });
});

describe('while the queue is away', () => {
  test('what could not be added is given back at once, and goes out when the queue is back', async () => {
    const ids = await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    queue.fail('addDeliveries');
    await expect(pass.turn()).rejects.toThrow(QueueUnavailableError);
    expect(await leased()).toBe(0);
    queue.fail();
    await pass.turn();
    expect(byNumber(idsQueued())).toEqual(ids);
  });

  test('nothing is claimed, no webhook with news is forgotten', async () => {
    await pass.turn();
    const webhookId = await store.rows.webhook();
    const ids = await store.rows.deliveries(webhookId);
    pass.note([webhookId]);
    queue.fail('depth', 'addDeliveries');
    const before = walks;
    await expect(pass.turn()).rejects.toThrow(QueueUnavailableError);
    expect(await leased()).toBe(0);
    queue.fail();
    await pass.turn();
    expect(idsQueued()).toEqual(ids);
    expect(walks - before).toBeLessThanOrEqual(2);
  });

  test('a webhook earns no trust by deliveries that were only given back', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId, { count: 100 });
    queue.fail('addDeliveries');
    for (let n = 0; n < 6; n += 1) await expect(pass.turn()).rejects.toThrow(QueueUnavailableError);
    queue.fail();
    await pass.turn();
    expect([jobs('fast').length, jobs('slow').length]).toEqual([2, 6]);
  });
});

describe('the depth of the queues', () => {
  test('bounds what goes in: full lanes take nothing', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 2 });
    for (const lane of ['fast', 'slow'] as const) queue.fill(lane, 'waiting', WAITING_MAX);
    for (let n = 0; n < 15; n += 1) await pass.turn();
    expect([queued(), await leased()]).toEqual([[], 0]);
    queue.fill('fast', 'waiting', WAITING_MAX - 1);
    await pass.turn(); // not forgotten meanwhile
    expect(await leased()).toBe(1);
  });

  test('of one lane does not hinder the other', async () => {
    const [failing, well] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, well]) await store.rows.deliveries(id, { count: 2 });
    queue.fill('slow', 'waiting', WAITING_MAX);
    await untilWalked();
    expect(claims.flat().map(({ webhookId }) => webhookId)).toEqual([well, well]);
    queue.fill('slow', 'waiting', 0);
    queue.fill('fast', 'waiting', WAITING_MAX);
    await untilWalked();
    expect(claims.flat().filter(({ webhookId }) => webhookId === failing)).toHaveLength(2);
  });

  test('with too many delayed jobs only what is due now goes in', async () => {
    const webhookId = await store.rows.webhook();
    const due = await store.rows.deliveries(webhookId);
    await store.rows.deliveries(webhookId, { dueInMs: 50_000 });
    queue.fill('slow', 'delayed', DELAYED_MAX);
    queue.fill('fast', 'delayed', 1);
    await untilWalked();
    expect(idsQueued()).toEqual(due);
  });
});

describe('fairness', () => {
  test('a failing webhook goes to the slow lane, four at a time; a new one has two of the fast lane', async () => {
    const [failing, fresh] = [await store.rows.webhook({ failing: true }), await store.rows.webhook()];
    for (const id of [failing, fresh]) await store.rows.deliveries(id, { count: 30 });
    await pass.turn();
    const laneOf = new Map(claims.flat().map((row) => [row.deliveryId, row.webhookId]));
    const count = (lane: Lane, id: WebhookId) =>
      jobs(lane).filter((job) => laneOf.get(job.deliveryId) === id).length;
    expect([count('fast', failing), count('slow', failing)]).toEqual([0, 4]);
    expect([count('fast', fresh), count('slow', fresh)]).toEqual([2, 6]);
  });

  test('a flooder’s backlog stays in Postgres while others’ events go out', async () => {
    const flooder = await store.rows.webhook();
    await store.rows.deliveries(flooder, { count: 3000, dueInMs: -60_000 });
    await pass.turn();
    const quiet = await store.rows.webhook();
    const ids = await store.rows.deliveries(quiet);
    pass.note([quiet]);
    await pass.turn();
    expect(idsQueued()).toEqual(expect.arrayContaining(ids));
    expect(queued().length).toBeLessThanOrEqual(2 * WAITING_MAX);
  });

  test('of many busy webhooks each gets its turn when the workers keep up with a few only', async () => {
    const busy: WebhookId[] = [];
    for (let n = 0; n < 30; n += 1) busy.push(await store.rows.webhook());
    for (const id of busy) await store.rows.deliveries(id, { count: 100 });
    queue.fill('fast', 'waiting', WAITING_MAX - 3); // room for three a turn
    queue.fill('slow', 'waiting', WAITING_MAX);
    const served = new Map<WebhookId, number>();
    for (let n = 0; n < 20; n += 1) {
      pass.note(busy.slice(0, 10)); // and these have news all the time
      await pass.turn();
      for (const lane of ['fast', 'slow'] as const) {
        for (const [id, count] of await work(lane)) served.set(id, (served.get(id) ?? 0) + count);
      }
    }
    expect([...served.values()].reduce((sum, count) => sum + count, 0)).toBe(60);
    expect(busy.map((id) => served.get(id))).toEqual(busy.map(() => 2));
  });
});
