import { beforeEach, describe, expect, test } from '@jest/globals';
import type { DeadWorker, QueueIdentity } from '@postrider/store';
import { createFleetWatch } from './fleet-watch.ts';

const QUEUE: QueueIdentity = { kind: 'redis', prefix: 'postrider', id: 'q1' };

let workers: number;
let queuesSeen: readonly QueueIdentity[];
let dead: DeadWorker[];
let nowMs: number;
let isPostgresAway: boolean;
let watch: ReturnType<typeof createFleetWatch>;

beforeEach(() => {
  workers = 0;
  dead = [];
  nowMs = 0;
  isPostgresAway = false;
  watch = createFleetWatch({
    fleet: {
      workers: async () => Array.from({ length: workers }, () => ({ slots: 100, queue: QUEUE })),
      async deadWorkers() {
        if (isPostgresAway) throw new Error('Postgres is away');
        return dead;
      },
    },
    nowMs: () => nowMs,
    defaultSlots: 768,
    onQueues: (queues) => (queuesSeen = queues),
  });
});

test('the fleet’s slots are those that workers announce; without any, those of one worker', async () => {
  expect(watch.slots()).toBe(768);
  await watch.run();
  expect(watch.slots()).toBe(768);
  workers = 2;
  await watch.run();
  expect(queuesSeen).toEqual([QUEUE, QUEUE]);
  expect(watch.slots()).toBe(200);
  workers = 0;
  await watch.run();
  expect(watch.slots()).toBe(768);
});

describe('a worker that died', () => {
  const WORKER = { number: 7, diedBefore: '2026-01-01 00:00:00+00' };

  test('is known from the next run on, also to a relay that has just started', async () => {
    expect(watch.deadWorkers()).toEqual([]);
    dead = [WORKER];
    await watch.run();
    expect(watch.deadWorkers()).toEqual([WORKER]);
  });

  test('is not known for 10 s after an outage of Postgres: locks ended, and workers need time to return', async () => {
    dead = [WORKER];
    await watch.run();
    isPostgresAway = true;
    await expect(watch.run()).rejects.toThrow('Postgres is away');
    expect(watch.deadWorkers()).toEqual([]);
    isPostgresAway = false;
    nowMs = 9_999;
    await watch.run();
    expect(watch.deadWorkers()).toEqual([]);
    nowMs = 10_000;
    await watch.run();
    expect(watch.deadWorkers()).toEqual([WORKER]);
  });
});
