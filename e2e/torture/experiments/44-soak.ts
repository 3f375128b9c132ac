import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { TIMES } from '../harness/times.ts';
import type { World } from '../harness/world/world.ts';
import { residentBytes } from './resident-bytes.ts';

const MINUTES = 60;
const MINUTE_MS = 60_000;
const PER_SECOND = 40;
/** From the sample when all is warm, the table and each process may grow by this much. */
const GROWTH_BYTES_MAX = 96 * 1024 * 1024;
const REDIS_AWAY_MS = 5_000;
const FROZEN_MS = 2 * TIMES.leaseSeconds * 1_000;

/** The processes that faults end and replace. */
interface Targets {
  relay: SystemProcess;
  worker: SystemProcess;
}

type Fault = (world: World, targets: Targets) => Promise<void>;

const FAULTS: readonly Fault[] = [
  async (world, targets) => {
    await world.kill(targets.worker);
    targets.worker = await world.start('worker');
  },
  async (world, targets) => {
    await world.kill(targets.relay);
    targets.relay = await world.start('relay');
  },
  async (world, targets) => {
    await world.fault('SIGSTOP worker', { mayRepeat: true }, () => targets.worker.signal('SIGSTOP'));
    await delay(FROZEN_MS);
    await world.fault('SIGCONT worker', { mayRepeat: true }, () => targets.worker.signal('SIGCONT'));
  },
  async (world) => {
    await world.fault('FLUSHALL', { mayRepeat: false }, () => world.redis.command('flushall'));
  },
  async (world) => {
    await world.fault('kill -9 redis', { mayRepeat: false }, () => world.redis.kill());
    await delay(REDIS_AWAY_MS);
    await world.redis.start();
    world.healed();
  },
  async (world) => {
    await world.fault('every session is ended', { mayRepeat: false }, () =>
      world.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'postrider%'`,
      ),
    );
  },
];

export const soak: Experiment = {
  number: 44,
  title: 'an hour at half load, with a fault chosen at random every minute',
  shows: 'every invariant holds, and neither memory nor the table of outstanding work grows',
  runs: 'long',
  deadlineSeconds: 5_400,
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    // One request in ten fails.
    const flaky = await world.endpoint();
    flaky.reacts(() => takingMs(20, answer(flaky.receipts.length % 10 === 0 ? 503 : 200)));
    const targets = { relay: await world.start('relay'), worker: await world.start('worker') };
    // No fault ends these two, so a leak shows in their memory.
    const witnesses = [await world.start('relay'), await world.start('worker')];
    const load = world.producer.load({ perSecond: PER_SECOND });
    await endpoint.arrived(PER_SECOND);
    const sizes: number[][] = [];
    const minutes = world.scaled(MINUTES);
    for (let minute = 1; minute <= minutes; minute += 1) {
      const next = delay(MINUTE_MS);
      await world.random.pick(FAULTS)(world, targets);
      await next;
      sizes.push([await tableBytes(world), ...(await Promise.all(witnesses.map(residentBytes)))]);
      world.note(
        `minute ${minute} of ${minutes}: ${await world.outstandingOf(world.accountId)} deliveries outstanding`,
      );
    }
    await load.stop();
    const warm = sizes[Math.min(Math.ceil(minutes / 6), minutes) - 1] ?? [];
    ['the table of outstanding work', 'a relay', 'a worker'].forEach((what, index) => {
      const grown = (sizes.at(-1)?.[index] ?? NaN) - (warm[index] ?? NaN);
      world.claim(`${what} does not grow`, grown <= GROWTH_BYTES_MAX, `${Math.round(grown / 1e6)} MB`);
    });
  },
};

async function tableBytes(world: World): Promise<number> {
  const [row] = await world.query<{ n: number }>(`select pg_total_relation_size('deliveries')::float8 as n`);
  return row?.n ?? NaN;
}
