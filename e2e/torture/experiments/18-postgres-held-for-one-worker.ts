import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { underLoad } from './under-load.ts';

const HELD_MS = 15_000;

export const postgresHeldForOneWorker: Experiment = {
  number: 18,
  title: 'one worker’s link to Postgres stands still for 15 s, longer than a lease',
  shows: 'another worker takes its deliveries; its late outcomes change nothing',
  runs: 'long',
  async run(world) {
    const line = await world.proxy('postgres');
    const load = await underLoad(world, {
      reaction: takingMs(50, answer(200)),
      perSecond: 30,
      through: { worker: [line] },
    });
    await world.fault('hold postgres for one worker', { mayRepeat: true }, () => line.hold());
    await world.start('worker');
    await delay(world.scaled(HELD_MS));
    line.pass();
    world.healed();
    await load.stop();
  },
};
