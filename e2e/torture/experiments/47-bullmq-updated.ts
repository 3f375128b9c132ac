import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { answer, DIST, takingMs } from '@postrider/testing';
import type { ProcessName, SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { failingFirst } from './failing-first.ts';

const SIDE_BY_SIDE_MS = 4_000;
const PROCESSES: readonly ProcessName[] = ['relay', 'worker', 'worker'];
const FAILING_ATTEMPTS = 4;
const PREVIOUS_DIST = join(DIST, 'previous');
const BUILD_SCRIPT = join(DIST, '..', 'scripts', 'build-previous.mjs');

export const bullmqUpdated: Experiment = {
  number: 47,
  title: "relay and workers go one by one from another BullMQ's release to ours, and back",
  shows:
    'each release takes the jobs of the other, those that wait and those that are delayed; nothing is lost',
  runs: 'ci',
  lacks: () => (existsSync(BUILD_SCRIPT) ? null : 'the sources are not here'),
  async run(world) {
    try {
      await promisify(execFile)(process.execPath, [BUILD_SCRIPT, PREVIOUS_DIST]);
      await updateAndBack(world);
    } finally {
      rmSync(PREVIOUS_DIST, { recursive: true, force: true });
    }
  },
};

async function updateAndBack(world: World): Promise<void> {
  await world.endpoint({ reaction: takingMs(300, answer(200)) });
  // Retries are delayed jobs: one release may add them, and the other take them.
  await world.endpoint({ reaction: failingFirst(FAILING_ATTEMPTS) });
  const quick = await world.endpoint();
  const running: SystemProcess[] = [];
  for (const name of PROCESSES) running.push(await world.start(name, { dist: PREVIOUS_DIST }));
  const load = world.producer.load({ perSecond: 40 });
  await quick.arrived(10);
  for (const dist of [DIST, PREVIOUS_DIST]) {
    for (const old of running.splice(0)) {
      running.push(await world.start(old.name, { dist }));
      await world.stop(old);
      await delay(world.scaled(SIDE_BY_SIDE_MS));
    }
  }
  await load.stop();
}
