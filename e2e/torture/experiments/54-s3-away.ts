import type { Experiment } from '../harness/experiment.ts';
import { startBlobsInS3 } from './blobs-in-s3.ts';
import { blobsAwayAndBack, claimRecords, underMail } from './under-mail.ts';

/** Puts that may pass before S3 goes away. A message is one put, and its attachment another. */
const PUTS_PASSED_MAX = 9;

export const s3Away: Experiment = {
  number: 54,
  title: 'S3 goes away in the middle of a put while mail comes in, and comes back',
  shows: 'senders get 451 and keep their mail; every message answered 250 has its bytes',
  runs: 'ci',
  async run(world) {
    const { line, env, ...blobs } = await startBlobsInS3();
    try {
      const load = await underMail(world, { env });
      await blobsAwayAndBack(world, {
        async goAway() {
          const skip = world.random.between(0, PUTS_PASSED_MAX);
          const put = line.trap({ sees: 'PUT /', in: 'toServer', holds: 'toServer', skip });
          await put.caught();
          line.takeAway();
        },
        comeBack: () => line.restore(),
      });
      await load.stop();
      await claimRecords(world);
    } finally {
      await blobs.close();
    }
  },
};
