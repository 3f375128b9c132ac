import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { openQueueWatch } from './queue-watch.ts';

/* The watch of a queue in Postgres. `watchRedis` has the tests of the other one. */

const FULL = Object.assign(new Error('sorry, too many clients already'), { code: '53300' });
const LINE = { client: 'worker', error: FULL };

let warnings: unknown[];
let onError: (error: Error) => void;
let metrics: Metrics<'worker'>;

beforeEach(() => {
  jest.useFakeTimers();
  metrics = createMetrics('worker', { processMetrics: false });
  warnings = [];
  ({ onError } = openQueueWatch(
    { kind: 'postgres', databaseUrl: 'postgres://db/x' },
    {
      client: 'worker',
      logger: {
        debug: () => undefined,
        info: () => undefined,
        warn: (msg, fields) => void warnings.push([msg, fields]),
      },
      metrics,
    },
  ));
});
afterEach(() => void jest.useRealTimers());

test('a full Postgres is one line for each outage, and each error is counted', async () => {
  for (let second = 0; second < 120; second += 1) {
    onError(FULL);
    jest.advanceTimersByTime(1_000);
  }
  expect(warnings).toEqual([['postgres error', LINE]]);
  expect(await metrics.registry.metrics()).toContain(
    'postrider_postgres_errors_total{code="53300",service="worker"} 120',
  );
  jest.advanceTimersByTime(60_000); // no error for so long: the outage is over
  onError(FULL);
  expect(warnings).toEqual(Array(2).fill(['postgres error', LINE]));
});
