import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { after, answer, createRows, median } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * An account's share of the slots beside another account. The worker announces twice its slots of the fast lane, and once
 * those of the slow lane.
 */

/** An ordinary serverless handler. */
const TAKES_MS = 600;

let system: System;

beforeEach(async () => {
  system = await startSystem({ env: { ROLES: 'relay,worker', DELIVERY_TIMEOUT_MS: '60000' } });
});
afterEach(() => system.close());

/** Starts relay and worker with few slots: an account that takes more than its share is seen at once. */
const start = (slots: Readonly<Record<string, string>>) => system.start('all', slots);

/**
 * Endpoints that take long and answer 200, all of one host.
 *
 * Returns how many requests they had in flight at each arrival. A test compares the median with the limit: on a machine that
 * stalls, the other account may need no share for a moment. Then the account may have more, rightly.
 */
function slowEndpoints(paths: readonly string[]): number[] {
  let inFlight = 0;
  const seen: number[] = [];
  for (const path of paths) {
    system.receiver.always(path, () => {
      inFlight += 1;
      seen.push(inFlight);
      const answered = delay(TAKES_MS).then(() => {
        inFlight -= 1;
      });
      return after(answered, answer(200));
    });
  }
  return seen;
}

async function backlog(paths: readonly string[], count: number): Promise<void> {
  const rows = createRows(system.db);
  for (const path of paths) {
    const { id } = await system.webhook(path, ['email.bounced']);
    await rows.deliveries(id, { count });
  }
}

/** Another account has its share in flight, and a backlog that lasts longer than the test. */
async function untilOtherHasItsShare(share: number): Promise<void> {
  slowEndpoints(['/other']);
  const other = await system.webhookOfOtherAccount('/other');
  await createRows(system.db).deliveries(other, { count: 3_000 });
  await system.receiver.waitForRequests(8 + 2 * share, { path: '/other', withinMs: 60_000 });
}

/** All these endpoints got their backlog. */
async function untilServed(paths: readonly string[], count: number): Promise<void> {
  for (const path of paths) await system.receiver.waitForRequests(count, { path, withinMs: 120_000 });
  await system.db.query('delete from deliveries');
}

test('an account whose slow endpoint answers may have a quarter of all slots beside another that needs its own', async () => {
  const limit = 64 / 4;
  const seen = slowEndpoints(['/slow']);
  await start({ DELIVERY_CONCURRENCY: '16', SLOW_LANE_CONCURRENCY: '32' });
  await untilOtherHasItsShare(limit);
  await backlog(['/slow'], 120);
  await untilServed(['/slow'], 120);
  expect(Math.max(...seen)).toBeGreaterThan(limit / 2);
  expect(median(seen)).toBeLessThanOrEqual(limit);
}, 180_000);

test('several webhooks of an account share what it may have in flight beside another account', async () => {
  const limit = 128 / 4; // a webhook may have eight at once: the fair share of one of four
  const paths = ['/one', '/two', '/three', '/four'];
  const seen = slowEndpoints(paths);
  await start({ DELIVERY_CONCURRENCY: '32', SLOW_LANE_CONCURRENCY: '64' });
  await untilOtherHasItsShare(limit);
  await backlog(paths, 150);
  await untilServed(paths, 150);
  expect(Math.max(...seen)).toBeGreaterThan(limit / 2);
  expect(median(seen)).toBeLessThanOrEqual(limit);
}, 180_000);
