import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { CLAIM_LIMITS, requestFor, setupLeases } from '../../test/claim-fixture.ts';
import { finished, retried } from '../../test/outcomes.ts';
import type { LeasedDelivery, WebhookReport } from './delivery-outbox.ts';
import { createDeliveryWork } from './delivery-work.ts';
import type { DeliveryClaim, TakenDelivery } from './delivery-work.ts';
import type { DeadWorker } from './fleet.ts';

const LEASE_SECONDS = CLAIM_LIMITS.leaseSeconds;
const DYING = 1;
const LIVING = 2;

const { database, rows, leases } = setupLeases();
let webhookId: WebhookId;
beforeEach(async () => {
  webhookId = await rows.webhook();
});

async function claim(deadWorkers: readonly DeadWorker[] = []): Promise<WebhookReport> {
  const [report] = await leases.outbox.claim([requestFor(webhookId)], {
    ...CLAIM_LIMITS,
    deadWorkers,
  });
  if (report === undefined) throw new Error('no report');
  return report;
}

function take(jobs: readonly DeliveryClaim[], worker: number | null): Promise<TakenDelivery[]> {
  return createDeliveryWork(leases.pool, leases.pool).take(jobs, LEASE_SECONDS, worker);
}

/** The worker `DYING` died at this moment. */
async function death(): Promise<DeadWorker[]> {
  const [row] = await database.query<{ at: string }>('select clock_timestamp()::text as at');
  return [{ number: DYING, diedBefore: row?.at ?? '' }];
}

function idsOf(leased: readonly LeasedDelivery[]): string[] {
  return leased.map(({ deliveryId }) => deliveryId);
}

describe('when a worker has died', () => {
  test('what it had taken is leased again at once, and once; what others took stays theirs', async () => {
    await rows.deliveries(webhookId, { count: 4 });
    const jobs = (await claim()).leased;
    await take(jobs.slice(0, 2), DYING);
    await take(jobs.slice(2, 3), LIVING);
    await take(jobs.slice(3), null);
    const dead = await death();
    const report = await claim(dead);
    expect(idsOf(report.leased)).toEqual(idsOf(jobs.slice(0, 2)));
    expect(report).toMatchObject({ due: 4, inFlight: 2, expired: 2 });
    expect(report.leased.every(({ leaseExpired }) => leaseExpired)).toBe(true);
    expect((await claim(dead)).leased).toEqual([]);
    expect(await take(report.leased, LIVING)).toHaveLength(2);
    expect((await claim(dead)).leased).toEqual([]);
  });

  test('so is what it had fetched and not taken; of its two jobs the first one counts', async () => {
    await rows.deliveries(webhookId, { count: 2 });
    const fetched = (await claim()).leased;
    const dead = await death();
    await rows.deliveries(webhookId);
    const report = await claim(dead);
    expect(idsOf(report.leased)).toEqual(expect.arrayContaining(idsOf(fetched)));
    expect(report.leased).toHaveLength(3);
    expect(report).toMatchObject({ inFlight: 0, expired: 2 });
    expect((await claim(dead)).leased).toEqual([]);
    expect(idsOf(report.leased.filter(({ leaseExpired }) => leaseExpired))).toEqual(idsOf(fetched));
    expect(await take(fetched, LIVING)).toHaveLength(2);
    expect(await take(report.leased, LIVING)).toHaveLength(1);
  });

  test('a released delivery of it still had a lease: its first job may be stuck', async () => {
    await rows.deliveries(webhookId, { count: 2 });
    const jobs = (await claim()).leased;
    await take(jobs.slice(0, 1), DYING);
    await leases.outbox.release(jobs.slice(1));
    const { leased } = await claim(await death());
    await leases.outbox.release(leased);
    const again = (await claim()).leased;
    expect(again).toEqual(expect.arrayContaining([...leased]));
    expect(idsOf(again.filter(({ leaseExpired }) => leaseExpired))).toEqual(idsOf(jobs.slice(0, 1)));
  });

  test('a delayed job keeps its lease: no worker has fetched it', async () => {
    await rows.deliveries(webhookId, { dueInMs: 50_000 });
    expect((await claim()).leased).toHaveLength(1);
    expect((await claim(await death())).leased).toEqual([]);
  });

  test('a delivery that it had taken before another worker took it is not leased again', async () => {
    await rows.deliveries(webhookId);
    const work = createDeliveryWork(leases.pool, leases.pool);
    const [held] = await take((await claim()).leased, DYING);
    if (held === undefined) throw new Error('not taken');
    await work.retry([retried(held, { dueInMs: 0 })]);
    await take((await claim()).leased, null);
    expect((await claim(await death())).leased).toEqual([]);
  });
});

describe('a worker that lives, though it was found dead,', () => {
  async function foundDead(): Promise<{ held: TakenDelivery; again: LeasedDelivery }> {
    await rows.deliveries(webhookId);
    const [held] = await take((await claim()).leased, DYING);
    const [again] = (await claim(await death())).leased;
    if (held === undefined || again === undefined) throw new Error('not taken, or not leased again');
    return { held, again };
  }

  test('records nothing after another worker has taken the delivery', async () => {
    const { held, again } = await foundDead();
    const [other] = await take([again], LIVING);
    const work = createDeliveryWork(leases.pool, leases.pool);
    expect(await work.done([finished(held)])).toEqual([]);
    expect(other && (await work.done([finished(other)]))).toEqual([held.deliveryId]);
    expect(await database.query('select from attempts')).toHaveLength(1);
  });

  test('records its outcome before that, and the delivery is not attempted again', async () => {
    const { held, again } = await foundDead();
    expect(await createDeliveryWork(leases.pool, leases.pool).done([finished(held)])).toEqual([
      held.deliveryId,
    ]);
    expect(await take([again], LIVING)).toEqual([]);
  });
});
