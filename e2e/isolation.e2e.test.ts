import { afterEach, expect, test } from '@jest/globals';
import { answer, hang, takingMs } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

let system: System;

afterEach(() => system.close());

const FLOOD = 5_000;
const QUIET = 50;

test('a flooding endpoint and a hanging one do not keep a quiet endpoint waiting', async () => {
  // Few slots: whoever took more than his share would be seen at once.
  system = await startSystem({ env: { DELIVERY_CONCURRENCY: '16', SLOW_LANE_CONCURRENCY: '16' } });
  system.receiver.always('/flood', takingMs(20, answer(200)));
  system.receiver.always('/hang', hang());
  await system.webhook('/flood', ['email.delivered']);
  await system.webhook('/hang', ['email.bounced']);
  await system.webhook('/quiet', ['email.sent']);
  await queue('/flood', FLOOD);
  await queue('/hang', 500);
  await system.startAll(['relay', 'worker']);
  await system.receiver.waitForRequests(50, { path: '/flood' });
  await system.record(QUIET);
  await system.receiver.waitForRequests(QUIET, { path: '/quiet', withinMs: 30_000 });
  const [row] = await system.db.query<{ n: number }>(
    `select count(*)::int as n from deliveries d join webhooks w on w.id = d.webhook_id where w.endpoint like '%/flood'`,
  );
  expect(row?.n).toBeGreaterThan(FLOOD / 2);
});

/** Queues so many deliveries for the webhook of that path, in one statement. */
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
