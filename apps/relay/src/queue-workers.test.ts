import { beforeEach, expect, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import type { QueueIdentity } from '@postrider/store';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { watchQueueWorkers } from './queue-workers.ts';

const OWN: QueueIdentity = { kind: 'redis', prefix: 'postrider', id: 'q1' };
const IN_POSTGRES: QueueIdentity = { kind: 'postgres', prefix: '', id: 'postgres' };
const WARNING = 'no worker takes jobs from this queue';

let queues: QueueIdentity[];
let own: QueueIdentity;
let lines: LoggedLine[];
let onQueues: ReturnType<typeof watchQueueWorkers>;
const metrics = createMetrics('relay', { processMetrics: false });

beforeEach(() => {
  queues = [];
  own = OWN;
  lines = [];
  onQueues = watchQueueWorkers({ queue: () => own, logger: keepingLogger(lines), metrics });
});

function runs(count: number): void {
  for (let run = 0; run < count; run += 1) onQueues(queues);
}

async function gauge(): Promise<number | undefined> {
  return (await metrics.queueWorkers.get()).values[0]?.value;
}

test.each<[string, QueueIdentity]>([
  ['Postgres', IN_POSTGRES],
  ['Redis (prefix other, id q2)', { kind: 'redis', prefix: 'other', id: 'q2' }],
  ['Redis (prefix postrider, id q3)', { ...OWN, id: 'q3' }],
  ['Redis (prefix postrider, not reachable)', { ...OWN, id: null }],
])('workers on another queue (%s) for 10 s are one warning that names both', async (name, queue) => {
  queues = [queue, queue];
  runs(9);
  expect(lines).toEqual([]);
  expect(await gauge()).toBe(0);
  runs(20);
  const fields = { queue: 'Redis (prefix postrider, id q1)', queues_of_workers: [name] };
  expect(lines).toEqual([{ level: 'warn', msg: WARNING, fields }]);

  queues = [queue, OWN];
  runs(2);
  expect(lines.slice(1).map(({ msg }) => msg)).toEqual(['workers take jobs from this queue again']);
  expect(await gauge()).toBe(1);
});

test.each<[string, QueueIdentity, QueueIdentity[]]>([
  ['one of two workers shares the queue', OWN, [IN_POSTGRES, OWN]],
  ['no worker runs', OWN, []],
  ['the relay cannot read its own queue', { ...OWN, id: null }, [IN_POSTGRES]],
  ['all queues are in Postgres', IN_POSTGRES, [IN_POSTGRES]],
])('there is no warning while %s', (_title, relay, workers) => {
  own = relay;
  queues = workers;
  runs(30);
  expect(lines).toEqual([]);
});
