import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { passMaker } from './pass.ts';

const PAUSE_AFTER_ERROR_MS = 500;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('a pass logs an outage once, and the recovery, and counts the failed runs', async () => {
  const error = new Error('away');
  const results = [error, error, error, 10, error];
  const lines: LoggedLine[] = [];
  const metrics = createMetrics('relay', { processMetrics: false });
  async function run(): Promise<number> {
    const result = results.shift() ?? 60_000;
    if (result instanceof Error) throw result;
    return result;
  }
  const pass = passMaker({ logger: keepingLogger(lines), metrics })('mail', run, PAUSE_AFTER_ERROR_MS);
  pass.start();
  await jest.advanceTimersByTimeAsync(5 * PAUSE_AFTER_ERROR_MS);
  await pass.stop();
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'pass failed'],
    ['debug', 'pass failed again'],
    ['debug', 'pass failed again'],
    ['info', 'pass recovered'],
    ['warn', 'pass failed'],
    ['info', 'pass recovered'],
  ]);
  expect(lines[0]?.fields).toEqual({ pass: 'mail', error });
  const counted = (await metrics.passesFailed.get()).values.filter(({ value }) => value > 0);
  expect(counted).toMatchObject([{ value: 4, labels: { pass: 'mail' } }]);
});
