import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { underLoad } from './under-load.ts';

const ROUNDS = 40;
const PAUSE_MS = 250;

export const scriptsAndConnectionsDropped: Experiment = {
  number: 9,
  title: 'SCRIPT FLUSH and CLIENT KILL of every connection to Redis, four times a second',
  shows: 'every client loads its scripts anew and reconnects by itself; nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    const load = await underLoad(world);
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
