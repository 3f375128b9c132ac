import { afterEach, expect, test } from '@jest/globals';
import { after, answer, createRows, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Every webhook here is on one host, the receiver: what its lanes allow at once is what its connections allow. */

/** Longer than any test: an attempt that waits for a connection would use up its time, and count as failed. */
const TIMEOUT = { DELIVERY_TIMEOUT_MS: '600000' };

/** A healthy endpoint's answers; the first slow one comes when its flight time is known. */
const SLOW_EVERY = 100;
/** A scan comes every two seconds at least. */
const LONGER_THAN_TWO_SCANS_MS = 6_000;
/** After so many answers the fast lane is open to more than one attempt at a time. */
const PROVEN_AFTER = 2;

let system: System;
let open: () => void;
let release: () => void = () => undefined;

/** @param env how many slots each lane has. */
async function startWithStuckHost(env: Readonly<Record<string, string>>): Promise<void> {
  system = await startSystem({ env: { ...TIMEOUT, ...env } });
  const opened = new Promise<void>((resolve) => (open = resolve));
  system.receiver.always('/stuck', after(opened, answer(200)));
}

afterEach(async () => {
  open();
  release();
  await system.close();
});

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
  await startWithStuckHost({ DELIVERY_CONCURRENCY: '3', SLOW_LANE_CONCURRENCY: '6' });
  await stuck(3, 2);
  await system.db.query('update webhooks set failing_since = now()');
  await system.webhook('/quick', ['email.sent']);
  await system.startAll(['relay', 'worker']);
  await system.receiver.waitForRequests(6, { path: '/stuck', withinMs: 40_000 });
  await system.record(1);
  await system.receiver.waitForRequests(1, { path: '/quick', withinMs: 40_000 });
  await expectAllDoneAtOnce();
});

test('a quick endpoint with a slow answer now and then does not need the slow lane', async () => {
  await startWithStuckHost({ DELIVERY_CONCURRENCY: '64', SLOW_LANE_CONCURRENCY: '2' });
  await stuck(2, 4);
  await system.db.query('update webhooks set failing_since = now()');
  await system.webhook('/quick', ['email.sent']);
  const opened = new Promise<void>((resolve) => (release = resolve));
  let answers = 0;
  system.receiver.always('/quick', () => {
    answers += 1;
    return answers % SLOW_EVERY === 0 ? after(opened, answer(200)) : answer(200);
  });
  await system.startAll(['relay', 'worker']);
  await system.receiver.waitForRequests(2, { path: '/stuck', withinMs: 40_000 });
  const endsAtMs = performance.now() + LONGER_THAN_TWO_SCANS_MS;
  for (let sent = 1; sent <= 2 * SLOW_EVERY || performance.now() < endsAtMs; sent += 1) {
    await system.record(1);
    await system.receiver.waitForRequests(sent, { path: '/quick', withinMs: 30_000 });
    if (sent <= PROVEN_AFTER) await waitFor(async () => (await attempts()) === sent, { what: 'its outcome' });
  }
  release();
  await expectAllDoneAtOnce();
});

test('the fast lane has a connection for every attempt in its slots and for every one it has parked', async () => {
  await startWithStuckHost({ DELIVERY_CONCURRENCY: '2', SLOW_LANE_CONCURRENCY: '1' });
  await stuck(4, 1);
  await system.startAll(['relay', 'worker']);
  await system.receiver.waitForRequests(4, { path: '/stuck', withinMs: 40_000 });
  await expectAllDoneAtOnce();
});
