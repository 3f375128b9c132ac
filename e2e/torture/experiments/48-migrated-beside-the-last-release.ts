import { setTimeout as delay } from 'node:timers/promises';
import { answer, deliveryQueues, DIST, takingMs } from '@postrider/testing';
import type { ProcessName, SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { nowMs, TIMES } from '../harness/times.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';
import { buildLastRelease, installLastRelease, lacksLastRelease, migrateBy } from './last-release.ts';
import { fillLargeTables } from './many-rows.ts';

const ROWS = 1_000_000;
const OUTCOME_MS_MAX = 300;
/**
 * Workers before relays, because an older worker does not read a job of several deliveries
 * (docs/operations/deploy.md).
 */
const PROCESSES: readonly ProcessName[] = ['api', 'worker', 'relay'];
const PER_SECOND = 20;
const LEASE_MS = TIMES.leaseSeconds * 1_000;
const SIDE_BY_SIDE_MS = 3_000;
/** Events at once, beside the load, so that a claim finds several. */
const BURST = 200;
const BURST_AT_ONCE = 8;
const REPORT_SECONDS = 3;
/** Short, so that reports read the tables nearly all the time. */
const BETWEEN_REPORTS_MS = 300;
const SAMPLE_EVERY_MS = 10;

export const migratedBesideTheLastRelease: Experiment = {
  number: 48,
  title: 'a million rows of the last release are migrated under load, and its processes replaced by ours',
  shows:
    `no statement waits over ${OUTCOME_MS_MAX} ms for the migration, though reports read the tables; nothing is lost, ` +
    'nothing waits for a lease, and deliveries that are due together share jobs',
  runs: 'long',
  deadlineSeconds: 1_500,
  ownPostgres: true,
  lacks: lacksLastRelease,
  async run(world) {
    const release = await buildLastRelease();
    const quick = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    const accountId = await world.newAccount();
    await installLastRelease(release, world);
    const removeRows = await fillLargeTables(world, { accountId, rows: world.scaled(ROWS) });

    const running: SystemProcess[] = [];
    for (const name of PROCESSES) running.push(await world.start(name, { dist: release.dist }));
    const load = world.producer.load({ perSecond: PER_SECOND });
    // Today's code commits the producer's causes. The last release's API commits the mail.
    const mailing = new AbortController();
    const mail = world.producer.mail(Infinity, { through: world.api, atOnce: 1, until: mailing.signal });
    await quick.arrived(2 * PER_SECOND);

    await migrateUnderWatch(world, quick);
    const replaced = new AbortController();
    const largestJob = watchJobs(world, replaced.signal);
    for (const old of running) {
      await world.start(old.name);
      await burst(world);
      await world.stop(old);
      await burst(world);
      await delay(world.scaled(SIDE_BY_SIDE_MS));
    }
    replaced.abort();
    const carried = await largestJob;
    world.claim(
      'a job of several deliveries was in the queue meanwhile',
      carried > 1,
      `${carried} in the largest`,
    );
    mailing.abort();
    await mail;
    await load.stop();
    await removeRows();
    await world.drained();
    const longestMs = longestUntilArrival(world, quick);
    const saw = `${Math.round(longestMs)} ms at the most`;
    world.claim('no delivery waited for a lease to end', longestMs < LEASE_MS / 2, saw);
    world.note(`from commit to arrival: ${saw}`);
  },
};

async function burst(world: World): Promise<void> {
  const each = Math.ceil(world.scaled(BURST) / BURST_AT_ONCE);
  await Promise.all(Array.from({ length: BURST_AT_ONCE }, () => world.producer.record(each)));
}

/** @returns the number of deliveries in the largest job that waited or ran. A job's id names each of them. */
async function watchJobs(world: World, signal: AbortSignal): Promise<number> {
  const lanes = deliveryQueues(world.queuePrefix);
  let largest = 0;
  await repeatedly(SAMPLE_EVERY_MS, signal, async () => {
    const ids = await Promise.all(
      lanes.flatMap((lane) => [
        world.redis.command('lrange', `${lane}:wait`, 0, -1),
        world.redis.command('zrange', `${lane}:prioritized`, 0, -1),
        world.redis.command('lrange', `${lane}:active`, 0, -1),
      ]),
    );
    largest = Math.max(largest, ...(ids.flat() as string[]).map((id) => id.split('.').length));
  });
  return largest;
}

/** From the commit of an event to its first arrival. */
function longestUntilArrival({ producer }: World, endpoint: Endpoint): number {
  const committedAtMs = new Map(producer.log.map(({ id, endedAtMs }) => [id, endedAtMs]));
  const waits = endpoint.receipts.map(
    ({ eventId, arrivedAtMs }) => arrivedAtMs - (committedAtMs.get(eventId) ?? arrivedAtMs),
  );
  return Math.max(...waits);
}

/** Migrates while reports read the tables, so that the migration does not get its locks at once. */
async function migrateUnderWatch(world: World, endpoint: Endpoint): Promise<void> {
  const migrations = 'public._prisma_migrations';
  const before = await world.count(migrations);
  const over = new AbortController();
  const reports = repeatedly(BETWEEN_REPORTS_MS, over.signal, () => world.query(REPORT));
  let longest = { ms: 0, waiting: 'nobody' };
  const watch = repeatedly(SAMPLE_EVERY_MS, over.signal, async () => {
    const [wait = longest] = await world.query<typeof longest>(LONGEST_WAIT);
    if (wait.ms > longest.ms) longest = wait;
  });
  const beganAtMs = nowMs();
  await migrateBy({ dist: DIST }, world).finally(() => over.abort());
  const endedAtMs = nowMs();
  await Promise.all([reports, watch]);
  const arrivals = endpoint.receipts
    .map(({ arrivedAtMs }) => arrivedAtMs)
    .filter((atMs) => atMs >= beganAtMs && atMs <= endedAtMs);
  const gapMs = Math.max(...arrivals.map((atMs, index) => atMs - (arrivals[index - 1] ?? beganAtMs)));
  const applied = (await world.count(migrations)) - before;
  world.claim('the last release lacked migrations', applied > 0, `${applied}`);
  const saw = `${Math.round(longest.ms)} ms at the most (${longest.waiting})`;
  world.claim(
    `nobody waited over ${OUTCOME_MS_MAX} ms for a table because of the migration`,
    longest.ms <= OUTCOME_MS_MAX,
    saw,
  );
  world.note(
    `${applied} migrations in ${Math.round((endedAtMs - beganAtMs) / 1000)} s; ${arrivals.length} arrivals meanwhile, ` +
      `${Math.round(gapMs)} ms apart at the most; waits because of it: ${saw}`,
  );
}

async function repeatedly(pauseMs: number, signal: AbortSignal, act: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    await act();
    await delay(pauseMs);
  }
}

/** One statement that reads every large table. */
const REPORT = `
  select pg_sleep(${REPORT_SECONDS})
  from (select from deliveries limit 1) d, (select from attempts limit 1) a, (select from emails limit 1) e,
       (select from events limit 1) v, (select from dead_letters limit 1) l, (select from accounts limit 1) c`;

/** The longest wait for a table behind the migration, now. Waits behind other sessions do not count. */
const LONGEST_WAIT = `
  select extract(epoch from clock_timestamp() - waitstart)::float8 * 1000 as ms, application_name as waiting
  from pg_locks join pg_stat_activity waiting using (pid)
  where not granted and locktype = 'relation' and datname = current_database() and exists (
    select from pg_stat_activity migrator
    where migrator.application_name = 'postrider-migrate' and migrator.pid = any (pg_blocking_pids(waiting.pid)))
  order by 1 desc nulls last limit 1`;
