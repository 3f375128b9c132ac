import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Experiment } from '../harness/experiment.ts';
import { blobsAwayAndBack, claimRecords, underMail } from './under-mail.ts';

export const blobStoreAway: Experiment = {
  number: 52,
  title: 'the folder of the blob store goes away while mail comes in, and comes back',
  shows: 'senders get 451 and keep their mail; every message answered 250 has its bytes',
  runs: 'ci',
  async run(world) {
    // The way to the folder is a link: it can be turned in one step, so that nobody makes a folder in between.
    const way = `${world.blobFolder}-way`;
    const nowhere = `${world.blobFolder}-nowhere`;
    mkdirSync(world.blobFolder);
    writeFileSync(nowhere, 'a file is no folder');
    redirect(way, world.blobFolder);
    const load = await underMail(world, { env: { BLOB_STORE: `file:${way}` } });
    await blobsAwayAndBack(world, {
      goAway: () => redirect(way, nowhere),
      comeBack: () => redirect(way, world.blobFolder),
    });
    await load.stop();
    await claimRecords(world);
  },
};

function redirect(way: string, target: string): void {
  symlinkSync(target, `${way}.new`);
  renameSync(`${way}.new`, way);
}
