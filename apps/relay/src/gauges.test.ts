import { beforeEach, expect, test } from '@jest/globals';
import { QueueUnavailableError } from '@postrider/queue';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import type { Backlog } from '@postrider/store';
import { inMemoryQueue } from '../test/in-memory-queue.ts';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { createEvictionWatch, GAUGES_EVERY_MS, gaugesPass } from './gauges.ts';
import type { GaugesParts } from './gauges.ts';

const BACKLOG: Backlog = {
  outstanding: 12,
  dueNow: 5,
  oldestDueSeconds: 3.5,
  oldestFirstAttemptSeconds: 4.5,
  unsentEmails: 2,
  failingWebhooks: 1,
};

let metrics: Metrics<'relay'>;
beforeEach(() => void (metrics = createMetrics('relay', { processMetrics: false })));

const report = (
  queue: GaugesParts['queue'],
  onEvictionPolicy: GaugesParts['onEvictionPolicy'] = () => undefined,
) =>
  gaugesPass({
    metrics,
    queue,
    readOutstanding: async () => BACKLOG,
    readUnsentMail: async () => ({
      emails: 2,
      isCut: false,
      oldestDueAt: new Date(0),
      oldestDueSeconds: 5.5,
    }),
    oldestSnapshotSeconds: async () => 60,
    onEvictionPolicy,
  });

/** Every sample of a gauge, without the name of the service. */
async function samples(name: string): Promise<Record<string, number>> {
  const metric = metrics.registry.getSingleMetric(name);
  const { values } = (await metric?.get()) ?? { values: [] };
  return Object.fromEntries(
    values.map(({ labels, value }) => [[labels['queue'], labels['state']].filter(Boolean).join(' '), value]),
  );
}

test('a report sets the gauges from the backlog and the queues', async () => {
  const queue = inMemoryQueue();
  queue.fill('fast', 'waiting', 7);
  queue.fill('slow', 'delayed', 8);
  queue.fill('mail', 'waiting', 9);
  expect(await report(queue)).toBe(GAUGES_EVERY_MS);
  expect(await samples('postrider_outstanding_deliveries')).toEqual({ '': 12 });
  expect(await samples('postrider_oldest_due_age_seconds')).toEqual({ '': 3.5 });
  expect(await samples('postrider_oldest_first_attempt_age_seconds')).toEqual({ '': 4.5 });
  expect(await samples('postrider_unsent_mail')).toEqual({ '': 2 });
  expect(await samples('postrider_oldest_unsent_mail_age_seconds')).toEqual({ '': 5.5 });
  expect(await samples('postrider_oldest_snapshot_age_seconds')).toEqual({ '': 60 });
  expect(await samples('postrider_queue_jobs')).toEqual({
    'fast waiting': 7,
    'fast delayed': 0,
    'slow waiting': 0,
    'slow delayed': 8,
    'mail waiting': 9,
    'mail delayed': 0,
  });
});

test('the backlog is reported while the queue is unavailable, and the pass fails', async () => {
  const queue = inMemoryQueue();
  queue.fail('depth');
  await expect(report(queue)).rejects.toThrow(QueueUnavailableError);
  expect(await samples('postrider_outstanding_deliveries')).toEqual({ '': 12 });
});

test('a Redis that may evict jobs is logged once, and again after a safe one', async () => {
  const lines: LoggedLine[] = [];
  const note = createEvictionWatch(metrics, keepingLogger(lines));
  const answers = [new Error('no answer'), 'allkeys-lru', 'allkeys-lru', 'noeviction', 'allkeys-lru'];
  const queue = {
    ...inMemoryQueue(),
    evictionPolicy: async () => {
      const answer = answers.shift();
      if (typeof answer !== 'string') throw new QueueUnavailableError(answer);
      return answer;
    },
  };
  const gauge = async () => (await samples('postrider_redis_may_evict'))[''];

  await expect(report(queue, note)).rejects.toThrow(QueueUnavailableError);
  const seen: unknown[] = [];
  while (answers.length > 0) {
    await report(queue, note);
    seen.push([await gauge(), lines.length]);
  }
  expect(seen).toEqual([
    [1, 1],
    [1, 1],
    [0, 1],
    [1, 2],
  ]);
  expect(lines[0]).toMatchObject({ level: 'warn', fields: { maxmemory_policy: 'allkeys-lru' } });
});
