import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { after, answer, createRows, median } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * An account's share of the slots while another account needs its own. The worker announces twice its slots
 * of the fast lane, and once those of the slow lane.
 */

/** The time of an ordinary serverless handler. */
const TAKES_MS = 600;

let system: System;

beforeEach(async () => {
  system = await startSystem({ env: { ROLES: 'relay,worker', DELIVERY_TIMEOUT_MS: '60000' } });
});
afterEach(() => system.close());

/** Starts relay and worker with few slots: an account that takes more than its share is seen at once. */
const start = (slots: Readonly<Record<string, string>>) => system.start('all', slots);

/**
 * Makes the endpoints of one host slow. They answer 200.
 *
 * Returns how many requests they had in flight at each arrival. A test compares the median with the limit.
 * On a machine that stalls, the other account may need no share for a moment. Then this account may rightly
 * have more.
 */
function slowEndpoints(paths: readonly string[]): number[] {
  let inFlight = 0;
  const inFlightAtArrivals: number[] = [];
  for (const path of paths) {
    system.receiver.always(path, () => {
      inFlight += 1;
      inFlightAtArrivals.push(inFlight);
      const answered = delay(TAKES_MS).then(() => {
        inFlight -= 1;
      });
      return after(answered, answer(200));
    });
  }
  return inFlightAtArrivals;
}

/** Adds a webhook for each path, with this many due deliveries. */
async function addBacklog(paths: readonly string[], count: number): Promise<void> {
  const rows = createRows(system.db);
  for (const path of paths) {
    const { id } = await system.webhook(path, ['email.bounced']);
    await rows.deliveries(id, { count });
  }
}

/** Waits until another account has its share in flight. It keeps a backlog for longer than the test takes. */
async function untilOtherHasItsShare(share: number): Promise<void> {
  slowEndpoints(['/other']);
  const other = await system.webhookOfOtherAccount('/other');
  await createRows(system.db).deliveries(other, { count: 3_000 });
  await system.receiver.waitForRequests(8 + 2 * share, { path: '/other', withinMs: 60_000 });
}

/** Waits until these endpoints got their backlog. Then removes the rest of the other account's. */
async function untilServed(paths: readonly string[], count: number): Promise<void> {
  for (const path of paths) await system.receiver.waitForRequests(count, { path, withinMs: 120_000 });
  await system.db.query('delete from deliveries');
}

test('an account with a slow endpoint has at most a quarter of all slots while another account needs its share', async () => {
  const limit = 64 / 4;
  const inFlight = slowEndpoints(['/slow']);
  await start({ DELIVERY_CONCURRENCY: '16', SLOW_LANE_CONCURRENCY: '32' });
  await untilOtherHasItsShare(limit);
  await addBacklog(['/slow'], 120);
  await untilServed(['/slow'], 120);
  expect(Math.max(...inFlight)).toBeGreaterThan(limit / 2);
  expect(median(inFlight)).toBeLessThanOrEqual(limit);
}, 180_000);

test('all webhooks of an account together have at most a quarter of all slots while another account needs its share', async () => {
  const limit = 128 / 4; // a webhook may have eight at once: the fair share of one of four
  const paths = ['/one', '/two', '/three', '/four'];
  const inFlight = slowEndpoints(paths);
  await start({ DELIVERY_CONCURRENCY: '32', SLOW_LANE_CONCURRENCY: '64' });
  await untilOtherHasItsShare(limit);
  await addBacklog(paths, 150);
  await untilServed(paths, 150);
  expect(Math.max(...inFlight)).toBeGreaterThan(limit / 2);
  expect(median(inFlight)).toBeLessThanOrEqual(limit);
}, 180_000);
