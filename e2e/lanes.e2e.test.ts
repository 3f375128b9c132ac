import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { after, answer, createRows } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* All webhooks here have one host. So its connection limits decide how many attempts run. */

/** Longer than any test. Otherwise an attempt that waits for a connection would time out, and so fail. */
const ENVIRONMENT = { DELIVERY_TIMEOUT_MS: '600000', ROLES: 'relay,worker' };

/** Every 40th answer is slow. By then the relay knows the flight time of the webhook. */
const SLOW_EVERY = 40;
/** The relay sweeps about every two seconds. */
const LONGER_THAN_TWO_SWEEPS_MS = 6_000;
/** The pause between two events after the last slow answer. */
const PAUSE_MS = 100;

let system: System;
/** The process of the test, with the roles relay and worker. */
let all: SystemProcess;
/** Lets `/stuck` answer. */
let answerStuck: () => void;
/** Lets `/quick` send its slow answers. */
let answerSlow: () => void = () => undefined;

beforeAll(async () => {
  system = await startSystem({ env: ENVIRONMENT });
});
afterAll(() => system.close());
afterEach(async () => {
  answerStuck();
  answerSlow();
  await system.reset();
  await all.stop(); // a killed worker's slots would count for three seconds more
});

/** From now on `/stuck` does not answer, until `answerStuck`. */
function holdStuck(): void {
  const opened = new Promise<void>((resolve) => (answerStuck = resolve));
  system.receiver.always('/stuck', after(opened, answer(200)));
}

/** Adds this many webhooks of `/stuck`, each with this many due deliveries. */
async function addStuck(webhooks: number, deliveriesEach: number): Promise<void> {
  const rows = createRows(system.db);
  for (let n = 0; n < webhooks; n += 1) {
    const { id } = await system.webhook('/stuck', ['email.bounced']);
    await rows.deliveries(id, { count: deliveriesEach });
  }
}

async function expectEachDoneAtFirstAttempt(): Promise<void> {
  answerStuck();
  await system.drained();
  const attempts = await system.db.query('select attempt, status from attempts');
  expect(new Set(attempts.map(({ attempt, status }) => `${attempt}: ${status}`))).toEqual(
    new Set(['1: 200']),
  );
}

test('attempts of the slow lane take no connection of the fast lane to the same host', async () => {
  holdStuck();
  await addStuck(3, 2);
  await system.db.query('update webhooks set failing_since = now()');
  await system.webhook('/quick', ['email.sent']);
  all = await system.start('all', { DELIVERY_CONCURRENCY: '3', SLOW_LANE_CONCURRENCY: '6' });
  await system.receiver.waitForRequests(6, { path: '/stuck', withinMs: 40_000 });
  await system.record(1);
  await system.receiver.waitForRequests(1, { path: '/quick', withinMs: 40_000 });
  await expectEachDoneAtFirstAttempt();
});

test('a quick endpoint with a slow answer now and then stays in the fast lane', async () => {
  holdStuck();
  await addStuck(2, 4);
  await system.db.query('update webhooks set failing_since = now()');
  await system.webhook('/quick', ['email.sent']);
  const opened = new Promise<void>((resolve) => (answerSlow = resolve));
  let answers = 0;
  system.receiver.always('/quick', () => {
    answers += 1;
    return answers % SLOW_EVERY === 0 ? after(opened, answer(200)) : answer(200);
  });
  all = await system.start('all', { DELIVERY_CONCURRENCY: '64', SLOW_LANE_CONCURRENCY: '2' });
  await system.receiver.waitForRequests(2, { path: '/stuck', withinMs: 40_000 });
  const endsAtMs = performance.now() + LONGER_THAN_TWO_SWEEPS_MS;
  for (let sent = 1; sent <= 2 * SLOW_EVERY || performance.now() < endsAtMs; sent += 1) {
    await system.record(1);
    await system.receiver.waitForRequests(sent, { path: '/quick', withinMs: 30_000 });
    if (sent > 2 * SLOW_EVERY) await delay(PAUSE_MS);
  }
  answerSlow();
  await expectEachDoneAtFirstAttempt();
});

test('the fast lane has a connection for each attempt, also for more attempts than DELIVERY_CONCURRENCY', async () => {
  holdStuck();
  await addStuck(4, 1);
  all = await system.start('all', { DELIVERY_CONCURRENCY: '2', SLOW_LANE_CONCURRENCY: '1' });
  await system.receiver.waitForRequests(4, { path: '/stuck', withinMs: 40_000 });
  await expectEachDoneAtFirstAttempt();
});
