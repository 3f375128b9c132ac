import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { after, answer, createRows, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

let system: System;
let release: () => void = () => undefined;

afterEach(async () => {
  release();
  await system.close();
});

/** An ordinary serverless handler that has just been started. */
const TAKES_MS = 1_500;
/** One worker announces twice 32 for the fast lane, and 64 for the slow lane. */
const SLOTS = { DELIVERY_CONCURRENCY: '32', SLOW_LANE_CONCURRENCY: '64' };
const ACCOUNT_LIMIT = 128 / 4;

/** Endpoints that take long and answer 200, all of one host; counts what they have in flight. */
function slowEndpoints(paths: readonly string[]) {
  let inFlight = 0;
  const seen = { most: 0 };
  for (const path of paths) {
    system.receiver.always(path, () => {
      inFlight += 1;
      seen.most = Math.max(seen.most, inFlight);
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

async function webhookOfOtherAccount(path: string) {
  const { id } = await system.webhook(path, ['email.bounced']);
  const accountId = await createRows(system.db).account();
  await system.db.query('update webhooks set account_id = $2 where id = $1', [id, accountId]);
  return id;
}

test('an account whose slow endpoint answers may have a quarter of all slots beside another, and no more', async () => {
  system = await startSystem({ env: { DELIVERY_CONCURRENCY: '96', SLOW_LANE_CONCURRENCY: '96' } });
  const seen = slowEndpoints(['/slow']);
  slowEndpoints(['/other']);
  // The other account is served for longer. Without one, an account may use the whole fast lane.
  await createRows(system.db).deliveries(await webhookOfOtherAccount('/other'), { count: 1_000 });
  await backlog(['/slow'], 500);
  await system.startAll(['relay', 'worker']);
  await system.drained(120_000);
  expect(seen.most).toBeGreaterThan(36);
  expect(seen.most).toBeLessThanOrEqual((3 * 96) / 4);
}, 180_000);

test('several webhooks of an account share what it may have in flight beside another account', async () => {
  system = await startSystem({ env: SLOTS });
  const paths = ['/one', '/two', '/three', '/four'];
  const seen = slowEndpoints(paths);
  slowEndpoints(['/other']);
  const other = await webhookOfOtherAccount('/other');
  await createRows(system.db).deliveries(other, { count: 300 });
  await backlog(paths, 60);
  await system.startAll(['relay', 'worker']);
  await system.drained(120_000);
  expect(seen.most).toBeGreaterThan(ACCOUNT_LIMIT / 2);
  // A webhook may take its fair share at once. The others, if one of them has all of the limit, give it back
  // later.
  const fairShare = ACCOUNT_LIMIT / paths.length;
  expect(seen.most).toBeLessThanOrEqual(ACCOUNT_LIMIT + (paths.length - 1) * fairShare);
}, 180_000);

test('accounts whose endpoints turn slow together do not keep another one’s quick endpoint waiting', async () => {
  // The first account is alone, and may have all 64 slots. Each other one may have 16. The fast lane has 112.
  system = await startSystem({
    env: { DELIVERY_TIMEOUT_MS: '60000', DELIVERY_CONCURRENCY: '16', SLOW_LANE_CONCURRENCY: '32' },
  });
  const rows = createRows(system.db);
  const paths = ['/one', '/two', '/three'];
  const webhooks = await Promise.all(paths.map((path) => webhookOfOtherAccount(path)));
  await system.webhook('/quick', ['email.sent']);
  await system.startAll(['relay', 'worker']);
  for (const id of webhooks) await rows.deliveries(id, { count: 100 });
  await system.drained();
  const opened = new Promise<void>((resolve) => (release = resolve));
  for (const path of paths) system.receiver.always(path, after(opened, answer(200)));
  await delay(4_000); // the relay notices that nobody is active
  for (const [index, id] of webhooks.entries()) {
    await rows.deliveries(id, { count: 100 });
    await waitFor(() => requestsTo(paths[index]) >= 100 + 16, {
      what: `the share of ${paths[index]} in flight`,
      timeoutMs: 60_000,
    });
  }
  for (let sent = 1; sent <= 20; sent += 1) {
    await system.record(1);
    await system.receiver.waitForRequests(sent, { path: '/quick', withinMs: 20_000 });
  }
  release();
  await system.drained();

  function requestsTo(slow: string | undefined): number {
    return system.receiver.requests.filter(({ path }) => path === slow).length;
  }
}, 180_000);
