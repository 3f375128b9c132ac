import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { claimRecords, underMail } from './under-mail.ts';

const TIMES_AWAY = 5;
const AWAY_MS = 1_000;
const TAKEN_BETWEEN = 10;

export const blobStoreAway: Experiment = {
  number: 52,
  title: 'the folder of the blob store goes away while mail comes in, and comes back',
  shows: 'senders hear 451 and keep their mail; every message that heard 250 has its bytes',
  runs: 'ci',
  async run(world) {
    // The way to the folder is a link: it can be turned in one step, so that nobody makes a folder in between.
    const way = `${world.blobFolder}-way`;
    const nowhere = `${world.blobFolder}-nowhere`;
    mkdirSync(world.blobFolder);
    writeFileSync(nowhere, 'a file is no folder');
    turn(way, world.blobFolder);
    const load = await underMail(world, { env: { BLOB_STORE: `file:${way}` } });
    for (let time = 1; time <= world.scaled(TIMES_AWAY); time += 1) {
      await world.fault('the blob store is away', { mayRepeat: false }, async () => {
        const before = world.sender.refused(451);
        turn(way, nowhere);
        await world.until('a sender to be told 451', () => world.sender.refused(451) > before);
        await delay(AWAY_MS);
        turn(way, world.blobFolder);
      });
      const enough = world.sender.taken + TAKEN_BETWEEN;
      await world.until('mail to be taken', () => world.sender.taken >= enough);
    }
    await load.stop();
    await claimRecords(world);
  },
};

function turn(way: string, target: string): void {
  symlinkSync(target, `${way}.new`);
  renameSync(`${way}.new`, way);
}
