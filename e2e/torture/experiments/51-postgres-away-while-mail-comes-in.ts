import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { claimRecords, underMail } from './under-mail.ts';

const CRASHES = 3;
const DOWN_MS = 1_500;
const CUTS = 12;
const PAUSE_MS = 200;
const TAKEN_BETWEEN = 10;

export const postgresAwayWhileMailComesIn: Experiment = {
  number: 51,
  title: 'kill -9 Postgres, and cut its connections, while mail comes in',
  shows: 'senders get 451 and keep their mail; no message answered 250 is lost, and none is stored twice',
  runs: 'ci',
  ownPostgres: true,
  async run(world) {
    const line = await world.proxy('postgres');
    const load = await underMail(world, { through: [line] });
    for (let cut = 1; cut <= world.scaled(CUTS); cut += 1) {
      await world.fault('inbound’s connections to Postgres are cut', { mayRepeat: false }, () => line.cut());
      await delay(PAUSE_MS);
    }
    for (let crash = 1; crash <= world.scaled(CRASHES); crash += 1) {
      await moreIsTaken(world);
      await world.fault('kill -9 postgres', { mayRepeat: true }, async () => {
        world.postgres.kill();
        await delay(DOWN_MS);
        await world.postgres.start();
      });
    }
    await moreIsTaken(world);
    await load.stop();
    const later = world.sender.refused(451);
    world.claim('senders were told 451', later > 0, String(later));
    await claimRecords(world);
  },
};

async function moreIsTaken(world: World): Promise<void> {
  const enough = world.sender.taken + TAKEN_BETWEEN;
  await world.until('mail to be taken', () => world.sender.taken >= enough);
}
