import { answer, deliveryQueues, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';

const EVENTS = 60;
const ENDPOINTS = 3;

/** Job data of another version of the relay, which this worker cannot read. */
const UNKNOWN = [
  '{"version":2,"delivery":{"id":"1"}}',
  '{"deliveryId":1,"claim":0}',
  '{"deliveryId":"1; drop table deliveries","claim":0}',
  '{"deliveryId":"1","claim":-1}',
  '["1",0]',
  '"1"',
  'null',
];
/**
 * The empty text stands for the data as it is, with one more field. There are at most eight shapes, because
 * without a worker a webhook has at most eight deliveries in flight.
 */
const SHAPES = [...UNKNOWN, ''];

/** Gives each waiting job of both lanes the next shape of the list. */
const RESHAPE = `
  local n = 0
  for _, queue in ipairs(KEYS) do
    for _, id in ipairs(redis.call('lrange', queue .. ':wait', 0, -1)) do
      local job = queue .. ':' .. id
      local shape = ARGV[n % #ARGV + 1]
      if shape == '' then
        shape = string.gsub(redis.call('hget', job, 'data'), '}$', ',"priority":"high"}')
      end
      redis.call('hset', job, 'data', shape)
      n = n + 1
    end
  end
  return n`;

export const unknownJobShapes: Experiment = {
  number: 41,
  title: 'jobs in the queue of a shape that this worker does not know, as while versions change',
  shows:
    'the worker ignores unknown jobs, and the delivery heals when its lease ends; one more field does no harm',
  runs: 'long',
  async run(world) {
    const endpoints = [];
    for (let made = 0; made < ENDPOINTS; made += 1) {
      endpoints.push(await world.endpoint({ reaction: takingMs(20, answer(200)) }));
    }
    await world.start('relay');
    // One by one: deliveries that are due together would share a job.
    for (let job = 1; job <= SHAPES.length; job += 1) {
      await world.producer.record(1);
      await world.until('a job to wait', async () => (await waiting(world)).length >= job);
    }
    const more = world.scaled(EVENTS);
    await world.producer.record(more);
    let reshaped = 0;
    await world.fault('jobs of other shapes', { mayRepeat: false }, async () => {
      const queues = deliveryQueues(world.queuePrefix);
      reshaped = Number(await world.redis.command('eval', RESHAPE, queues.length, ...queues, ...SHAPES));
    });
    world.claim('jobs of every shape waited', reshaped >= SHAPES.length, String(reshaped));
    const worker = await world.start('worker');
    await world.drained();
    const times = endpoints.map(({ receipts }) => receipts.length);
    world.claim(
      'every event arrived once',
      times.every((length) => length === SHAPES.length + more),
      times.join(' '),
    );
    const errors = worker.log.filter((line) => line['level'] === 'error').length;
    world.claim('the worker takes no shape for a fault', errors === 0, `${errors} errors logged`);
    const left = await waiting(world);
    world.claim('no such job stays in the queue', left.length === 0, `${left.length} left`);
  },
};

async function waiting(world: World): Promise<unknown[]> {
  const lists = deliveryQueues(world.queuePrefix).map((queue) =>
    world.redis.command('lrange', `${queue}:wait`, 0, -1),
  );
  return (await Promise.all(lists)).flat();
}
