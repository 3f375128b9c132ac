import { beforeEach, describe, expect, test } from '@jest/globals';
import type { EventId, WebhookId } from '@postrider/domain';
import { untilWaitingForLock, waitFor } from '@postrider/testing';
import type { DeliveryWish } from '@postrider/testing';
import { openLeasePool, setupLeases } from '../../test/claim-fixture.ts';
import { died, finished, retried } from '../../test/outcomes.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createDeliveryWork } from './delivery-work.ts';
import type { DeliveryWork, HeldDelivery, TakenDelivery } from './delivery-work.ts';

const LEASE_SECONDS = 30;

const { database, rows, leases } = setupLeases(10);
let work: DeliveryWork;
let webhookId: WebhookId;
beforeEach(async () => {
  work = createDeliveryWork(leases.pool, leases.pool);
  webhookId = await rows.webhook();
});

async function taken(wish: DeliveryWish = {}): Promise<TakenDelivery[]> {
  const ids = await rows.deliveries(webhookId, wish);
  const got = await work.take(
    ids.map((deliveryId) => ({ deliveryId, claim: 0 })),
    LEASE_SECONDS,
  );
  expect(got).toHaveLength(ids.length);
  return got.sort((a, b) => Number(a.deliveryId) - Number(b.deliveryId));
}

async function takenOne(wish: DeliveryWish = {}): Promise<TakenDelivery> {
  const [one] = await taken(wish);
  if (one === undefined) throw new Error('nothing was taken');
  return one;
}

/** Two deliveries, and the jobs that name them. The event of one is gone. */
async function wholeAndOrphan() {
  const [whole = ''] = await rows.deliveries(webhookId);
  const eventId = await rows.event();
  const [deliveryId = ''] = await rows.deliveries(webhookId, { eventId });
  await database.query('delete from events where id = $1', [eventId]);
  const jobs = [deliveryId, whole].map((id) => ({ deliveryId: id, claim: 0 }));
  return { jobs, whole, orphan: { deliveryId, eventId, webhookId } };
}

const deliveries = () => database.query('select * from deliveries order by id');
const attempts = () => database.query('select * from attempts order by delivery_id, attempt');
const letters = () => database.query('select * from dead_letters order by id');

describe('take', () => {
  test('gives all that an attempt needs, under the next claim, with a lease from now', async () => {
    const accountId = await rows.account();
    webhookId = await rows.webhook({ accountId, failing: true });
    const delivery = await takenOne({ attempts: 3 });
    const [event] = await database.query<{ id: string; created_at: Date; data: string }>(
      'select * from events',
    );
    expect(delivery).toEqual({
      deliveryId: expect.stringMatching(/^\d+$/),
      claim: 1,
      attemptsMade: 3,
      eventId: event?.id,
      eventType: 'email.sent',
      eventCreatedAt: event?.created_at,
      eventData: event?.data,
      webhookId,
      subject: accountId,
      endpoint: 'https://hooks.example/in',
      secret: { keyId: 'k', sealed: Buffer.from([1]) },
      headers: null,
      failing: true,
      dueInMs: 0,
      lateMs: expect.any(Number),
    });
    const [row] = await database.query(
      `select leased_until = taken_at + interval '30 s' as leased, taken_at <= now() as taken from deliveries`,
    );
    expect(row).toEqual({ leased: true, taken: true });
  });

  test('tells how long it had been due, which is nothing before it is', async () => {
    const { lateMs } = await takenOne({ dueInMs: -90_000 });
    const [row] = await database.query<{ ms: number }>(
      'select (extract(epoch from taken_at - due_at) * 1000)::float8 as ms from deliveries',
    );
    expect(lateMs).toBeGreaterThan(90_000);
    expect(lateMs).toBeCloseTo(row?.ms ?? 0, 2);
    expect((await takenOne({ dueInMs: 90_000 })).lateMs).toBe(0);
  });

  test('tells the subject of the rule for a rule’s own webhook', async () => {
    webhookId = await rows.webhook({ subject: 'acct_1/inbound/r1' });
    expect((await takenOne()).subject).toBe('acct_1/inbound/r1');
  });

  test('of one hand-over succeeds for exactly one of many at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [deliveryId = ''] = await rows.deliveries(webhookId);
      const job = { deliveryId, claim: 0 };
      const all = await Promise.all(Array.from({ length: 10 }, async () => work.take([job], LEASE_SECONDS)));
      expect(all.flat()).toHaveLength(1);
      expect(await work.take([job], LEASE_SECONDS)).toEqual([]);
    }
  });

  test('with a claim that is over, or one that is yet to come, gets nothing', async () => {
    const { deliveryId, claim } = await takenOne();
    for (const stale of [claim - 1, claim + 1]) {
      expect(await work.take([{ deliveryId, claim: stale }], LEASE_SECONDS)).toEqual([]);
    }
  });

  test('of a deleted webhook’s delivery gets nothing, though its row is still there', async () => {
    const [deliveryId = ''] = await rows.deliveries(webhookId);
    await database.query('delete from webhooks where id = $1', [webhookId]);
    expect(await work.take([{ deliveryId, claim: 0 }], LEASE_SECONDS)).toEqual([]);
    expect(await deliveries()).toMatchObject([{ claim: 0, leased_until: null }]);
  });

  test('of a delivery whose event is gone ends it, and tells so; the others of its batch are given', async () => {
    const told: HeldDelivery[] = [];
    const telling = createDeliveryWork(leases.pool, leases.pool, {
      onOrphan: (delivery) => told.push(delivery),
    });
    const { jobs, whole, orphan } = await wholeAndOrphan();
    expect(await telling.take(jobs, LEASE_SECONDS)).toMatchObject([{ deliveryId: whole }]);
    await waitFor(() => told.length > 0, { what: 'the orphan to end' });
    expect(told).toMatchObject([{ ...orphan, claim: 1 }]);
    expect(await deliveries()).toMatchObject([{ id: whole }]);
  });

  test('of a delivery whose event is gone gives the others of its batch, also while that one cannot be ended', async () => {
    const ended: HeldDelivery[] = [];
    const narrow = openLeasePool(database.url, 1);
    const held = await narrow.connect();
    const telling = createDeliveryWork(leases.pool, narrow, { onOrphan: (delivery) => ended.push(delivery) });
    const { jobs, whole, orphan } = await wholeAndOrphan();
    expect(await telling.take(jobs, LEASE_SECONDS)).toMatchObject([{ deliveryId: whole }]);
    held.release();
    await waitFor(() => ended.length > 0, { what: 'the orphan to end' });
    expect(ended).toMatchObject([{ ...orphan, claim: 1 }]);
    await narrow.end();
  });

  test('of a delivery whose event was gone leaves it, when the event is back before it ends', async () => {
    const narrow = openLeasePool(database.url, 1);
    const held = await narrow.connect();
    const { jobs, orphan } = await wholeAndOrphan();
    await createDeliveryWork(leases.pool, narrow).take(jobs, LEASE_SECONDS);
    await database.query(
      `insert into events (id, account_id, type, created_at, data) values ($1, 'acct_1', 'email.sent', now(), '{}')`,
      [orphan.eventId],
    );
    held.release();
    await narrow.query('select 1'); // behind the statement that ends orphans
    expect(await deliveries()).toMatchObject([{}, { id: orphan.deliveryId, claim: 1 }]);
    await narrow.end();
  });

  test('of a delivery whose event is gone, and which cannot be ended, says so and leaves it to its lease', async () => {
    const left: [HeldDelivery, unknown][] = [];
    const closed = openLeasePool(database.url, 1);
    await closed.end();
    const telling = createDeliveryWork(leases.pool, closed, { onOrphanLeft: (...told) => left.push(told) });
    const { jobs, whole, orphan } = await wholeAndOrphan();
    expect(await telling.take(jobs, LEASE_SECONDS)).toMatchObject([{ deliveryId: whole }]);
    await waitFor(() => left.length > 0, { what: 'the orphan to be told of' });
    expect(left).toMatchObject([[{ ...orphan, claim: 1 }, expect.any(Error)]]);
    expect(await deliveries()).toHaveLength(2);
  });

  test('before it is due gets it too, told how early, with a lease from the time it is due', async () => {
    const [deliveryId = ''] = await rows.deliveries(webhookId, { dueInMs: 20_000 });
    const [delivery] = await work.take([{ deliveryId, claim: 0 }], LEASE_SECONDS);
    expect(delivery?.dueInMs).toBeGreaterThan(0);
    expect(delivery?.dueInMs).toBeLessThanOrEqual(20_001);
    const [row] = await database.query(
      `select leased_until = due_at + interval '30 s' as leased, taken_at = due_at as taken from deliveries`,
    );
    expect(row).toEqual({ leased: true, taken: true });
  });

  test('waits for a row that is locked for a moment: dropped, its job would be missed for a whole lease', async () => {
    const ids = await rows.deliveries(webhookId, { count: 3 });
    const jobs = [...ids, '999999'].map((deliveryId) => ({ deliveryId, claim: 0 }));
    const taking = await inUndoneTransaction(leases.pool, async (other) => {
      await other.query('select from deliveries where id = $1 for update', [ids[1]]);
      const got = work.take(jobs, LEASE_SECONDS);
      await untilWaitingForLock(database);
      return { got };
    });
    const got = await taking.got;
    expect(got.map(({ deliveryId }) => deliveryId).sort()).toEqual([...ids].sort());
  });
});

describe('done', () => {
  test('removes the rows and logs each attempt, several at once', async () => {
    const [first, second, other] = (await taken({ count: 3, attempts: 2 })) as [
      TakenDelivery,
      TakenDelivery,
      TakenDelivery,
    ];
    const ended = await work.done([
      finished(second, { statusCode: 204, startedAgoMs: 5_000, durationMs: 40, answer: Buffer.from('ok') }),
      finished(first),
    ]);
    expect(ended.sort()).toEqual([first.deliveryId, second.deliveryId].sort());
    expect(await deliveries()).toMatchObject([{ id: other.deliveryId }]);
    const logged = {
      event_id: first.eventId,
      webhook_id: webhookId,
      attempt: 3,
      error: null,
      type: 'email.sent',
    };
    expect(await attempts()).toEqual([
      {
        ...logged,
        delivery_id: first.deliveryId,
        status: 200,
        duration_ms: 150,
        answer: null,
        started_at: expect.any(Date),
      },
      {
        ...logged,
        delivery_id: second.deliveryId,
        status: 204,
        duration_ms: 40,
        answer: Buffer.from('ok'),
        started_at: expect.any(Date),
      },
    ]);
    const [gap] = await database.query(
      `select (max(started_at) - min(started_at)) = interval '55.15 s' as as_told from attempts`,
    );
    expect(gap).toEqual({ as_told: true });
  });

  test('of nothing does nothing', async () => {
    expect(await work.done([])).toEqual([]);
    expect(await work.retry([])).toEqual([]);
    expect(await work.dead([])).toEqual([]);
  });
});

describe('retry', () => {
  test('makes the row due by Postgres’s clock alone', async () => {
    const held = await takenOne();
    await work.retry([retried(held, { startedAgoMs: 60_150, dueInMs: 60_000 })]);
    // The log's start is 60.15 s before the statement and the due time 60 s after it: both of one now().
    const [row] = await database.query(
      `select d.due_at - a.started_at = interval '120.15 s' as exact from deliveries d, attempts a`,
    );
    expect(row).toEqual({ exact: true });
  });

  test('releases the lease of the row, counts one attempt, and raises the claim', async () => {
    const held = await takenOne({ attempts: 1 });
    expect(await work.retry([retried(held)])).toEqual([held.deliveryId]);
    expect(await deliveries()).toMatchObject([
      { attempts: 2, claim: 2, leased_until: null, taken_at: null, last_status: 503 },
    ]);
    expect(await attempts()).toMatchObject([
      { attempt: 2, status: 503, error: 'HTTP 503', duration_ms: 150 },
    ]);
    expect(await work.take([held], LEASE_SECONDS)).toEqual([]);
  });

  test('keeps the last answer’s status when this attempt got none', async () => {
    const [silent, answered] = (await taken({ count: 2, lastStatus: 500 })) as [TakenDelivery, TakenDelivery];
    await work.retry([
      retried(silent, { statusCode: null, error: 'timeout after 10000 ms' }),
      retried(answered, { statusCode: 404, error: 'HTTP 404' }),
    ]);
    expect((await deliveries()).map((row) => row['last_status'] as number)).toEqual([500, 404]);
    expect((await attempts()).map((row) => row['status'] as number | null)).toEqual([null, 404]);
  });

  test('gives each row of a batch its own due time', async () => {
    const held = await taken({ count: 3 });
    await work.retry(held.map((one, n) => retried(one, { dueInMs: 30_000 * 2 ** n })).reverse());
    const gaps = await database.query(
      'select extract(epoch from due_at - min(due_at) over ())::int as gap from deliveries order by id',
    );
    expect(gaps).toEqual([{ gap: 0 }, { gap: 30 }, { gap: 90 }]);
  });
});

describe('dead', () => {
  test('writes a letter that carries its event, counts this attempt and logs it', async () => {
    const accountId = await rows.account();
    const eventId = await rows.event({ accountId, ageDays: 3 });
    const held = await takenOne({ attempts: 7, lastStatus: 500, eventId });
    const dead = died(held, { answer: Buffer.from('no') });
    expect(await work.dead([dead])).toEqual([held.deliveryId]);
    expect(await letters()).toEqual([
      {
        id: dead.deadLetterId,
        account_id: accountId,
        webhook_id: webhookId,
        event_id: eventId,
        type: 'email.sent',
        event_created_at: held.eventCreatedAt,
        data: held.eventData,
        attempts: 8,
        reason: 'attempts_exhausted',
        last_error: 'HTTP 503',
        status_code: 503,
        created_at: expect.any(Date),
      },
    ]);
    expect(await deliveries()).toEqual([]);
    expect(await attempts()).toMatchObject([
      { attempt: 8, status: 503, answer: Buffer.from('no'), type: 'email.sent' },
    ]);
  });

  test('of a refusal counts no attempt and logs none', async () => {
    const fresh = await takenOne();
    const retriedBefore = await takenOne({ attempts: 2, lastStatus: 503 });
    const refusal = {
      requestMade: false,
      reason: 'rejected',
      statusCode: null,
      error: 'refused: 10.0.0.1',
    } as const;
    await work.dead([died(fresh, refusal), died(retriedBefore, refusal)]);
    const told = (await letters()).map(
      (row) => [row['attempts'], row['reason'], row['status_code']] as unknown[],
    );
    expect(told.sort()).toEqual([
      [0, 'rejected', null],
      [2, 'rejected', 503],
    ]);
    expect(await attempts()).toEqual([]);
  });

  test('without an answer this time tells the last answer’s status, or none', async () => {
    const answeredOnce = await takenOne({ attempts: 7, lastStatus: 418 });
    const neverAnswered = await takenOne({ attempts: 7 });
    const silent = { statusCode: null, error: 'timeout after 10000 ms' };
    await work.dead([died(answeredOnce, silent), died(neverAnswered, silent)]);
    expect(new Set((await letters()).map((row) => row['status_code'] as number | null))).toEqual(
      new Set([418, null]),
    );
  });

  test('several at once keep what is each one’s own', async () => {
    const held = await taken({ count: 4 });
    const dead = held.map((one, n) => died(one, { statusCode: 500 + n, error: `HTTP ${500 + n}` }));
    expect((await work.dead([...dead].reverse())).length).toBe(4);
    const found = new Map((await letters()).map((row) => [row['id'], row['last_error']]));
    expect(found).toEqual(new Map(dead.map((one, n) => [one.deadLetterId as unknown, `HTTP ${500 + n}`])));
  });
});

describe('statements for the same rows', () => {
  test('that name them in opposite order do not deadlock, and each row is ended once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const held = await taken({ count: 60 });
      const back = [...held].reverse();
      const ended = await Promise.all([
        work.done(held.map((one) => finished(one))),
        work.retry(back.map((one) => retried(one))),
        work.dead(held.map((one) => died(one))),
        work.done(back.map((one) => finished(one))),
      ]);
      expect(ended.flat().sort()).toEqual(held.map(({ deliveryId }) => deliveryId).sort());
    }
  });

  test.each(['take', 'done'])('lock them by id, whatever the order they are named in: %s', async (name) => {
    const held = await taken({ count: 2 });
    const [low, high] = held as [TakenDelivery, TakenDelivery];
    await inUndoneTransaction(leases.pool, async (blocker) => {
      await blocker.query('select from deliveries where id = $1 for update', [low.deliveryId]);
      const finish =
        name === 'take' ? work.take([high, low], 30) : work.done([finished(high), finished(low)]);
      await untilWaitingForLock(database);
      // Waiting for the first, it does not hold the second yet.
      await blocker.query('select from deliveries where id = $1 for update nowait', [high.deliveryId]);
      await blocker.query('rollback');
      expect(await finish).toHaveLength(2);
    });
  });
});

test('an event that several webhooks still wait for is delivered to each on its own', async () => {
  const eventId: EventId = await rows.event();
  const held = await takenOne({ eventId });
  webhookId = await rows.webhook();
  const other = await takenOne({ eventId });
  await work.dead([died(held)]);
  expect(await work.done([finished(other)])).toEqual([other.deliveryId]);
  expect(await letters()).toHaveLength(1);
});
