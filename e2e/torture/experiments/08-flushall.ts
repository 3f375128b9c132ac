import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const WIPES = 30;
const PAUSE_MS = 1_000;

export const flushAll: Experiment = {
  number: 8,
  title: 'FLUSHALL once a second under load',
  shows: 'nothing is lost or made twice, no retry comes early, and everything heals by lease',
  runs: 'ci',
  async run(world) {
    await world.endpoint({ reaction: takingMs(20, answer(200)) });
    const failing = await world.endpoint();
    // Some fail, so that there are retries waiting in Redis to be wiped.
    failing.reacts(() => answer(failing.receipts.length % 10 === 0 ? 503 : 200));
    await world.start('relay');
    await world.start('worker');
    const load = world.producer.load({ perSecond: 30 });
    await failing.arrived(10);
    for (let wipe = 1; wipe <= world.scaled(WIPES); wipe += 1) {
      await world.fault('FLUSHALL', { mayRepeat: false }, () => world.redis.command('flushall'));
      await delay(PAUSE_MS);
    }
    await load.stop();
  },
};
