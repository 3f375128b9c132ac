import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fetchMetrics, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** A relay reads its gauges every 15 s. */
const REPORTED_WITHIN_MS = 40_000;
/** Short, so that work which is left to its lease comes back a few times. */
const LEASES = { DELIVERY_TIMEOUT_MS: '1000', LEASE_SECONDS: '7' };
const LEASE_SECONDS = Number(LEASES.LEASE_SECONDS);
const OTHER_KEY = Buffer.alloc(32, 9).toString('base64');

let system: System;

beforeEach(async () => {
  system = await startSystem({ env: LEASES });
});
afterEach(() => system.close());

async function untilMetric(process: SystemProcess, name: string, holds: (value: number) => boolean) {
  await waitFor(async () => holds((await fetchMetrics(await process.port())).find(name) ?? 0), {
    what: name,
    timeoutMs: REPORTED_WITHIN_MS,
  });
}

test('a delivery whose secret no key opens shows: by its age, and by the stage that leaves it to its lease', async () => {
  const webhook = await system.webhook('/hook');
  const relay = await system.start('relay');
  const worker = await system.start('worker', { SECRETS_KEY: OTHER_KEY });
  const [eventId] = await system.record(1);
  await untilMetric(
    worker,
    'postrider_work_left_to_lease_total{work="delivery",stage="attempt"}',
    (left) => left >= 2,
  );
  await untilMetric(relay, 'postrider_oldest_first_attempt_age_seconds', (age) => age > LEASE_SECONDS);
  const line = worker.log.find(({ msg }) => msg === 'work left to its lease');
  expect(line).toMatchObject({
    stage: 'attempt',
    event_id: eventId,
    webhook_id: webhook.id,
    error: { message: expect.stringContaining('no configured key') },
  });
  expect(system.receiver.requests).toHaveLength(0);
});

test('a delivery whose event is gone ends, with a line and a count', async () => {
  const webhook = await system.webhook('/hook');
  const [gone = ''] = await system.record(1);
  await system.db.query('delete from events where id = $1', [gone]);
  const [, worker] = await system.startAll(['relay', 'worker']);
  await system.drained();
  await untilMetric(worker, 'postrider_orphaned_deliveries_total', (ended) => ended === 1);
  expect(worker.log).toContainEqual(
    expect.objectContaining({
      level: 'error',
      msg: 'delivery ended: its event is gone',
      event_id: gone,
      webhook_id: webhook.id,
    }),
  );
});
