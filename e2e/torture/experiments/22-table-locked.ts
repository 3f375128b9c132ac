import type { Experiment } from '../harness/experiment.ts';
import { underLoad } from './under-load.ts';

const LOCKED_SECONDS = 10;

export const tableLocked: Experiment = {
  number: 22,
  title: 'LOCK TABLE deliveries for 10 s under load',
  shows: 'claims, outcomes and causes wait or are tried again; nothing is lost or made twice',
  runs: 'long',
  // Longer than the lock, so that nothing excuses a second attempt.
  leaseSeconds: 3 * LOCKED_SECONDS,
  async run(world) {
    const load = await underLoad(world);
    await world.fault('deliveries are locked', { mayRepeat: false }, () =>
      // One statement is one transaction: the lock goes with it.
      world.query(
        `do $$ begin lock table deliveries; perform pg_sleep(${world.scaled(LOCKED_SECONDS)}); end $$`,
      ),
    );
    await load.stop();
  },
};
