import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { underLoad } from './under-load.ts';

const SILENT_MS = 20_000;

export const redisHalfOpen: Experiment = {
  number: 12,
  title: 'the connections to Redis are half-open for 20 s: bytes vanish without an error',
  shows: 'time limits of relay and worker end the dead connections; both reconnect, and nothing is lost',
  runs: 'ci',
  async run(world) {
    const line = await world.proxy('redis');
    const load = await underLoad(world, { through: { relay: [line], worker: [line] } });
    await world.fault('drop redis', { mayRepeat: false }, () => line.drop());
    const accepted = line.accepted;
    await delay(world.scaled(SILENT_MS));
    // Dropped bytes are gone. Only relay and worker can find out that their old connections are dead.
    line.pass();
    world.healed();
    await world.until('new connections to be made', () => line.accepted > accepted);
    await load.stop();
  },
};
