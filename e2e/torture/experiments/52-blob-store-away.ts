import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Experiment } from '../harness/experiment.ts';
import { blobsAwayAndBack, claimRecords, underMail } from './under-mail.ts';

export const blobStoreAway: Experiment = {
  number: 52,
  title: 'the folder of the blob store goes away while mail comes in, and comes back',
  shows: 'senders get 451 and keep their mail; every message answered 250 has its bytes',
  runs: 'ci',
  async run(world) {
    // The store's path is a link. Its target changes in one step, so no process makes a folder in between.
    const link = `${world.blobFolder}-way`;
    const nowhere = `${world.blobFolder}-nowhere`;
    mkdirSync(world.blobFolder);
    writeFileSync(nowhere, 'a file is no folder');
    pointTo(link, world.blobFolder);
    const load = await underMail(world, { env: { BLOB_STORE: `file:${link}` } });
    await blobsAwayAndBack(world, {
      goAway: () => pointTo(link, nowhere),
      comeBack: () => pointTo(link, world.blobFolder),
    });
    await load.stop();
    await claimRecords(world);
  },
};

function pointTo(link: string, target: string): void {
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}
