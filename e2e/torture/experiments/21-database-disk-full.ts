import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { lacksSmallDisk } from '../harness/servers/small-disk.ts';
import { TIMES } from '../harness/times.ts';
import type { World } from '../harness/world/world.ts';
import { startCustomer } from './watchful-customer.ts';

const DISK_MIB = 320;
const PER_SECOND = 40;
const OUTAGES = 4;
/** Less than a lease, so that an attempt that cannot be recorded is repeated once per outage. */
const FULL_MS = (TIMES.leaseSeconds * 1_000) / 2;
const TOP_UP_EVERY_MS = 50;
const REFUSALS = 20;

export const databaseDiskFull: Experiment = {
  number: 21,
  title: 'the disk of the database is full, again and again, at last for its log too',
  shows:
    'the API answers 503, never 500, when it cannot store; acknowledged causes exist; everything heals by itself',
  runs: 'long',
  ownPostgres: { diskMib: DISK_MIB },
  lacks: lacksSmallDisk,
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    for (const name of ['api', 'relay', 'worker'] as const) await world.start(name);
    const load = world.producer.load({ perSecond: PER_SECOND });
    const customer = startCustomer(world);
    const outages = world.scaled(OUTAGES);
    for (let outage = 1; outage <= outages; outage += 1) {
      await endpoint.arrived(endpoint.receipts.length + PER_SECOND);
      await customer.served();
      await world.fault('the disk is full', { mayRepeat: true }, async () => {
        const { switched } = await keepDiskFull(world, { logToo: outage > outages / 2 });
        world.postgres.disk.free();
        await world.until('Postgres to answer again', () => answersAgain(world));
        await switched;
      });
    }
    await customer.served();
    await customer.stop();
    await load.stop();
    const least = world.scaled(REFUSALS);
    world.claim(
      'customers were told to come again',
      customer.refusals() >= least,
      `${customer.refusals()} times`,
    );
  },
};

/** Keeps the disk full for `FULL_MS`. A checkpoint may free a little, so it fills the disk repeatedly. */
async function keepDiskFull(
  world: World,
  { logToo }: { readonly logToo: boolean },
): Promise<{ readonly switched: Promise<unknown> }> {
  const { disk } = world.postgres;
  disk.fill();
  // Postgres ends when it cannot write its log. The connection may end with it, or wait for long.
  const switched = logToo ? Promise.allSettled([world.query('select pg_switch_wal()')]) : Promise.resolve();
  const endsAtMs = performance.now() + FULL_MS;
  while (performance.now() < endsAtMs) {
    await delay(TOP_UP_EVERY_MS);
    disk.fill();
  }
  return { switched };
}

/** Without disk space for its log, Postgres may have ended. An operator would start it, and so does this. */
async function answersAgain(world: World): Promise<boolean> {
  try {
    await world.query('select 1');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') {
      world.note('Postgres had ended');
      await world.postgres.start();
    }
    return false;
  }
}
