import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { after, answer, createRows, takingMs } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/**
 * Few slots: an endpoint that takes more than its share is seen at once. The worker announces twice 16 for
 * the fast lane, and 32 for the slow lane. The fast lane attempts seven times its slots.
 */
const SLOTS = { DELIVERY_CONCURRENCY: '16', SLOW_LANE_CONCURRENCY: '32' };
const FLOOD = 5_000;
const QUIET = 50;

let system: System;
/** Lets the slow endpoints answer. */
let release: () => void = () => undefined;

beforeAll(async () => {
  system = await startSystem({ env: { ...SLOTS, ROLES: 'relay,worker', DELIVERY_TIMEOUT_MS: '60000' } });
  await system.start('all');
});
afterAll(() => system.close());
afterEach(async () => {
  release();
  await system.reset();
});

test('accounts with endpoints that turn slow together do not keep the quick endpoint of another account waiting', async () => {
  // The first account may have all 64 slots. Each other one may have 16. The fast lane has 112.
  const rows = createRows(system.db);
  await system.webhook('/quick', ['email.sent']);
  const opened = new Promise<void>((resolve) => (release = resolve));
  for (const path of ['/one', '/two', '/three']) {
    const webhookId = await system.webhookOfOtherAccount(path);
    const queueHundred = () => rows.deliveries(webhookId, { count: 100 });
    const untilRequests = (count: number) =>
      system.receiver.waitForRequests(count, { path, withinMs: 60_000 });
    await queueHundred(); // the endpoint is quick, so the limit of the webhook grows
    await untilRequests(100);
    system.receiver.always(path, after(opened, answer(200)));
    await queueHundred();
    await untilRequests(100 + 16);
  }
  for (let sent = 1; sent <= 20; sent += 1) {
    await system.record(1);
    await system.receiver.waitForRequests(sent, { path: '/quick', withinMs: 20_000 });
  }
  release();
  await system.drained();
}, 180_000);

test('a flooding endpoint and a hanging one do not keep a quiet endpoint waiting', async () => {
  system.receiver.always('/flood', takingMs(20, answer(200)));
  const opened = new Promise<void>((resolve) => (release = resolve));
  system.receiver.always('/hang', after(opened, answer(200)));
  await system.webhook('/flood', ['email.delivered']);
  await system.webhook('/hang', ['email.bounced']);
  await system.webhook('/quiet', ['email.sent']);
  await queue('/flood', FLOOD);
  await queue('/hang', 500);
  await system.receiver.waitForRequests(50, { path: '/flood' });
  await system.record(QUIET);
  await system.receiver.waitForRequests(QUIET, { path: '/quiet', withinMs: 30_000 });
  const [row] = await system.db.query<{ n: number }>(
    `select count(*)::int as n from deliveries d join webhooks w on w.id = d.webhook_id where w.endpoint like '%/flood'`,
  );
  expect(row?.n).toBeGreaterThan(FLOOD / 2);
  await system.db.query('delete from deliveries');
});

/** Queues this many deliveries for the webhook of that path, in one statement. */
async function queue(path: string, count: number): Promise<void> {
  await system.db.query(
    `with seeded as (
       insert into events (id, account_id, type, created_at, data)
       select 'evt_' || $2 || n, $1, 'email.sent', now(), '{}' from generate_series(1, $3::int) n
       returning id
     )
     insert into deliveries (event_id, webhook_id)
     select seeded.id, w.id from seeded, webhooks w where w.endpoint like '%' || $2`,
    [system.accountId, path, count],
  );
}
