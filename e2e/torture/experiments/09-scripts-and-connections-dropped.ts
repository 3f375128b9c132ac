import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const ROUNDS = 40;
const PAUSE_MS = 250;

export const scriptsAndConnectionsDropped: Experiment = {
  number: 9,
  title: 'SCRIPT FLUSH and CLIENT KILL of every connection to Redis, four times a second',
  shows: 'every client loads its scripts anew and reconnects by itself; nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    await world.start('relay');
    await world.start('worker');
    const load = world.producer.load({ perSecond: 50 });
    await endpoint.arrived(10);
    for (let round = 1; round <= world.scaled(ROUNDS); round += 1) {
      await world.fault('SCRIPT FLUSH, CLIENT KILL', { mayRepeat: false }, async () => {
        await world.redis.command('script', 'flush');
        await world.redis.command('client', 'kill', 'type', 'normal');
      });
      await delay(PAUSE_MS);
    }
    await load.stop();
  },
};
