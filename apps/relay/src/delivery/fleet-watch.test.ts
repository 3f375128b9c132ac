import { beforeEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import type { DeadWorker, QueueIdentity } from '@postrider/store';
import { keepingLogger } from '../../test/log-lines.ts';
import type { LoggedLine } from '../../test/log-lines.ts';
import { createFleetWatch } from './fleet-watch.ts';

const OWN: QueueIdentity = { kind: 'redis', prefix: 'postrider', id: 'q1' };
const IN_POSTGRES: QueueIdentity = { kind: 'postgres', prefix: '', id: 'postgres' };
const WARNING = 'no worker takes jobs from this queue';

let queues: QueueIdentity[];
let own: QueueIdentity;
let dead: DeadWorker[];
let nowMs: number;
let isPostgresAway: boolean;
let lines: LoggedLine[];
let watch: ReturnType<typeof createFleetWatch>;
const metrics = createMetrics('relay', { processMetrics: false });

beforeEach(() => {
  queues = [];
  own = OWN;
  dead = [];
  nowMs = 0;
  isPostgresAway = false;
  lines = [];
  watch = createFleetWatch({
    fleet: {
      workers: async () => queues.map((queue) => ({ slots: 100, queue })),
      async deadWorkers() {
        if (isPostgresAway) throw new Error('Postgres is away');
        return dead;
      },
    },
    nowMs: () => nowMs,
    defaultSlots: 768,
    queue: () => own,
    logger: keepingLogger(lines),
    metrics,
  });
});

async function runs(count: number): Promise<void> {
  for (let run = 0; run < count; run += 1) await watch.run();
}

async function gauge(): Promise<number | undefined> {
  return (await metrics.queueWorkers.get()).values[0]?.value;
}

test('the fleet’s slots are those that workers announce; without any, those of one worker', async () => {
  expect(watch.slots()).toBe(768);
  await watch.run();
  expect(watch.slots()).toBe(768);
  queues = [OWN, OWN];
  await watch.run();
  expect(watch.slots()).toBe(200);
  queues = [];
  await watch.run();
  expect(watch.slots()).toBe(768);
});

test.each<[string, QueueIdentity]>([
  ['Postgres', IN_POSTGRES],
  ['Redis (prefix other, id q2)', { kind: 'redis', prefix: 'other', id: 'q2' }],
  ['Redis (prefix postrider, id q3)', { ...OWN, id: 'q3' }],
  ['Redis (prefix postrider, not reachable)', { ...OWN, id: null }],
])('workers on another queue (%s) for 10 s are one warning that names both', async (name, queue) => {
  queues = [queue, queue];
  await runs(9);
  expect(lines).toEqual([]);
  expect(await gauge()).toBe(0);
  await runs(20);
  const fields = { queue: 'Redis (prefix postrider, id q1)', queues_of_workers: [name] };
  expect(lines).toEqual([{ level: 'warn', msg: WARNING, fields }]);

  queues = [queue, OWN];
  await runs(2);
  expect(lines.slice(1).map(({ msg }) => msg)).toEqual(['workers take jobs from this queue again']);
  expect(await gauge()).toBe(1);
});

test.each<[string, QueueIdentity, QueueIdentity[]]>([
  ['one of two workers shares the queue', OWN, [IN_POSTGRES, OWN]],
  ['no worker runs', OWN, []],
  ['the relay cannot read its own queue', { ...OWN, id: null }, [IN_POSTGRES]],
  ['all queues are in Postgres', IN_POSTGRES, [IN_POSTGRES]],
])('there is no warning while %s', async (_title, relay, workers) => {
  own = relay;
  queues = workers;
  await runs(30);
  expect(lines).toEqual([]);
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
