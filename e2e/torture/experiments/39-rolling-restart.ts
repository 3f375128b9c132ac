import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const ROUNDS = 3;
const PAUSE_MS = 2_000;

export const rollingRestart: Experiment = {
  number: 39,
  title: 'rolling restart of relay and workers under load',
  shows: 'each exits 0 within its deadline, and nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    await world.endpoint({ reaction: takingMs(300, answer(200)) });
    const quick = await world.endpoint();
    let relay = await world.start('relay');
    let workers = [await world.start('worker'), await world.start('worker')];
    const load = world.producer.load({ perSecond: 40 });
    await quick.arrived(10);
    for (let round = 1; round <= world.scaled(ROUNDS); round += 1) {
      for (const worker of workers) {
        workers = [...workers.filter((other) => other !== worker), await world.start('worker')];
        await world.stop(worker);
        await delay(PAUSE_MS);
      }
      const next = await world.start('relay');
      await world.stop(relay);
      relay = next;
    }
    await load.stop();
  },
};
