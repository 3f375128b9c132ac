import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { after, answer, createRows, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Every webhook here is on one host, the receiver: what its lanes allow at once is what its connections allow. */

/** Longer than any test: an attempt that waits for a connection would use up its time, and count as failed. */
const ENVIRONMENT = { DELIVERY_TIMEOUT_MS: '600000', ROLES: 'relay,worker' };

/** A healthy endpoint's answers; the first slow one comes when its flight time is known. */
const SLOW_EVERY = 40;
/** A scan comes every two seconds at least. */
const LONGER_THAN_TWO_SCANS_MS = 6_000;
/** Between two events after the last slow answer. */
const PAUSE_MS = 100;
/** After so many answers the fast lane is open to more than one attempt at a time. */
const PROVEN_AFTER = 2;

let system: System;
/** Relay and worker of the test. */
let all: SystemProcess;
let open: () => void;
let release: () => void = () => undefined;

beforeAll(async () => {
  system = await startSystem({ env: ENVIRONMENT });
});
afterAll(() => system.close());
afterEach(async () => {
  open();
  release();
  await system.reset();
  await all.stop(); // a killed worker's slots would count for three seconds more
});

/** From now on the host of `/stuck` does not answer. */
function stickHost(): void {
  const opened = new Promise<void>((resolve) => (open = resolve));
  system.receiver.always('/stuck', after(opened, answer(200)));
}

/** So many webhooks with so many deliveries each that do not end before the test lets them. */
async function stuck(webhooks: number, deliveriesEach: number): Promise<void> {
  const rows = createRows(system.db);
  for (let n = 0; n < webhooks; n += 1) {
    const { id } = await system.webhook('/stuck', ['email.bounced']);
    await rows.deliveries(id, { count: deliveriesEach });
  }
}

async function attempts(): Promise<number> {
  return (await system.db.query('select from attempts')).length;
}

async function expectAllDoneAtOnce(): Promise<void> {
  open();
  await system.drained();
  const attempts = await system.db.query('select attempt, status from attempts');
  expect(new Set(attempts.map(({ attempt, status }) => `${attempt}: ${status}`))).toEqual(
    new Set(['1: 200']),
  );
}

test('the slow lane, full of attempts at a host, leaves the fast lane’s connections to that host alone', async () => {
  stickHost();
  await stuck(3, 2);
  await system.db.query('update webhooks set failing_since = now()');
  await system.webhook('/quick', ['email.sent']);
  all = await system.start('all', { DELIVERY_CONCURRENCY: '3', SLOW_LANE_CONCURRENCY: '6' });
  await system.receiver.waitForRequests(6, { path: '/stuck', withinMs: 40_000 });
  await system.record(1);
  await system.receiver.waitForRequests(1, { path: '/quick', withinMs: 40_000 });
  await expectAllDoneAtOnce();
});

test('a quick endpoint with a slow answer now and then does not need the slow lane', async () => {
  stickHost();
  await stuck(2, 4);
  await system.db.query('update webhooks set failing_since = now()');
  await system.webhook('/quick', ['email.sent']);
  const opened = new Promise<void>((resolve) => (release = resolve));
  let answers = 0;
  system.receiver.always('/quick', () => {
    answers += 1;
    return answers % SLOW_EVERY === 0 ? after(opened, answer(200)) : answer(200);
  });
  all = await system.start('all', { DELIVERY_CONCURRENCY: '64', SLOW_LANE_CONCURRENCY: '2' });
  await system.receiver.waitForRequests(2, { path: '/stuck', withinMs: 40_000 });
  const endsAtMs = performance.now() + LONGER_THAN_TWO_SCANS_MS;
  for (let sent = 1; sent <= 2 * SLOW_EVERY || performance.now() < endsAtMs; sent += 1) {
    await system.record(1);
    await system.receiver.waitForRequests(sent, { path: '/quick', withinMs: 30_000 });
    if (sent <= PROVEN_AFTER) await waitFor(async () => (await attempts()) === sent, { what: 'its outcome' });
    if (sent > 2 * SLOW_EVERY) await delay(PAUSE_MS);
  }
  release();
  await expectAllDoneAtOnce();
});

test('the fast lane has a connection for every attempt in its slots and for every one it has parked', async () => {
  stickHost();
  await stuck(4, 1);
  all = await system.start('all', { DELIVERY_CONCURRENCY: '2', SLOW_LANE_CONCURRENCY: '1' });
  await system.receiver.waitForRequests(4, { path: '/stuck', withinMs: 40_000 });
  await expectAllDoneAtOnce();
});
