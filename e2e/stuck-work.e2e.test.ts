import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { createRows, fetchMetrics, systemClock, waitFor } from '@postrider/testing';
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
/** The relay, and a worker that cannot open a secret. */
let all: SystemProcess;

beforeAll(async () => {
  system = await startSystem({ env: { ...LEASES, ROLES: 'relay,worker', SECRETS_KEY: OTHER_KEY } });
  all = await system.start('all');
});
afterAll(() => system.close());
// Before each test, not after: the last one leaves a delivery that cannot end.
beforeEach(() => system.reset());

async function untilMetric(name: string, holds: (value: number) => boolean) {
  await waitFor(async () => holds((await fetchMetrics(await all.port())).find(name) ?? 0), {
    what: name,
    timeoutMs: REPORTED_WITHIN_MS,
  });
}

test('a delivery with a missing event ends, and is logged and counted', async () => {
  const webhook = await system.webhook('/hook');
  const gone = newId('event', systemClock);
  await createRows(system.db).deliveries(webhook.id, { eventId: gone });
  await system.drained();
  await untilMetric('postrider_orphaned_deliveries_total', (ended) => ended === 1);
  expect(all.log).toContainEqual(
    expect.objectContaining({
      level: 'error',
      msg: 'delivery ended: its event is gone',
      event_id: gone,
      webhook_id: webhook.id,
    }),
  );
});

test('a delivery with a secret that no key opens shows in the metrics: by its age, and by the stage that leaves it to its lease', async () => {
  const webhook = await system.webhook('/hook');
  const [eventId] = await system.record(1);
  await untilMetric(
    'postrider_work_left_to_lease_total{work="delivery",stage="attempt"}',
    (left) => left >= 2,
  );
  await untilMetric('postrider_oldest_first_attempt_age_seconds', (age) => age > LEASE_SECONDS);
  const line = all.log.find(({ msg }) => msg === 'work left to its lease');
  expect(line).toMatchObject({
    stage: 'attempt',
    event_id: eventId,
    webhook_id: webhook.id,
    error: { message: expect.stringContaining('no configured key') },
  });
  expect(system.receiver.requests).toHaveLength(0);
});
