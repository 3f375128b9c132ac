import { beforeEach, expect, test } from '@jest/globals';
import { QueueUnavailableError } from '@postrider/queue';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import type { Backlog } from '@postrider/store';
import { inMemoryQueue } from '../test/in-memory-queue.ts';
import { REPORT_EVERY_MS, reportTurn } from './reports.ts';

const BACKLOG: Backlog = {
  outstanding: 12,
  dueNow: 5,
  oldestDueSeconds: 3.5,
  unsentEmails: 2,
  deadLetters: { attempts_exhausted: 1, rejected: 0 },
  failingWebhooks: 1,
};

let metrics: Metrics<'relay'>;
beforeEach(() => void (metrics = createMetrics('relay', { processMetrics: false })));

/** Every sample of a gauge, without the name of the service. */
async function samples(name: string): Promise<Record<string, number>> {
  const metric = metrics.registry.getSingleMetric(name);
  const { values } = (await metric?.get()) ?? { values: [] };
  return Object.fromEntries(
    values.map(({ labels, value }) => [[labels['queue'], labels['state']].filter(Boolean).join(' '), value]),
  );
}

test('a report sets the gauges to what the backlog and the queues are now', async () => {
  const queue = inMemoryQueue();
  queue.fill('fast', 'waiting', 7);
  queue.fill('slow', 'delayed', 8);
  queue.fill('mail', 'waiting', 9);
  expect(await reportTurn(metrics, async () => BACKLOG, queue)).toBe(REPORT_EVERY_MS);
  expect(await samples('postrider_outstanding_deliveries')).toEqual({ '': 12 });
  expect(await samples('postrider_oldest_due_age_seconds')).toEqual({ '': 3.5 });
  expect(await samples('postrider_queue_jobs')).toEqual({
    'fast waiting': 7,
    'fast delayed': 0,
    'slow waiting': 0,
    'slow delayed': 8,
    'mail waiting': 9,
    'mail delayed': 0,
  });
});

test('the backlog is told also while the queue is away, and the turn says that it is', async () => {
  const queue = inMemoryQueue();
  queue.fail('depth');
  await expect(reportTurn(metrics, async () => BACKLOG, queue)).rejects.toThrow(QueueUnavailableError);
  expect(await samples('postrider_outstanding_deliveries')).toEqual({ '': 12 });
});
