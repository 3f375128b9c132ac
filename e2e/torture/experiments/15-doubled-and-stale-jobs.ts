import { Producer } from '@postrider/queue';
import type { DeliveryJob } from '@postrider/queue';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { failingFirst } from './failing-first.ts';

const EVENTS = 150;

export const doubledAndStaleJobs: Experiment = {
  number: 15,
  title: 'every job in both lanes, and stale ones added by hand',
  shows: 'of several jobs for one claim exactly one makes the attempt; a stale job makes none',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    await world.endpoint({ reaction: failingFirst(1) });
    await world.start('relay');
    await world.start('worker');
    await world.start('worker');
    const queue = new Producer(
      { kind: 'redis', redisUrl: world.redis.url, prefix: world.queuePrefix },
      () => undefined, // the call that fails says so
    );
    let added = 0;
    try {
      const recording = { ended: false };
      const recorded = world.producer
        .record(world.scaled(EVENTS))
        .finally(() => void (recording.ended = true));
      while (!recording.ended) added += await addAgain(world, queue);
      await recorded;
      await world.drained();
    } finally {
      await queue.close();
    }
    world.claim('jobs were doubled', added > 0, String(added));
    const { length } = endpoint.receipts;
    world.claim('every event arrived once', length === world.scaled(EVENTS), String(length));
  },
};

/**
 * Adds jobs for the current claim of each leased delivery, and for the claim before it, in both lanes.
 *
 * @returns the number of jobs in each lane
 */
async function addAgain(world: World, queue: Producer): Promise<number> {
  const jobs = await world.query<DeliveryJob & Record<string, unknown>>(
    `select id as "deliveryId", claim - back as claim from deliveries, (values (0), (1)) b (back)
     where claim >= back and leased_until > now() and taken_at is null`,
  );
  const timed = jobs.map(({ deliveryId, claim }) => ({ deliveryId, claim, delayMs: 0 }));
  for (const lane of ['fast', 'slow'] as const) await queue.addDeliveries(lane, timed);
  return timed.length;
}
