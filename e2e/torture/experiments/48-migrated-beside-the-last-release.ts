import { setTimeout as delay } from 'node:timers/promises';
import { answer, DIST, takingMs } from '@postrider/testing';
import type { ProcessName, SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { nowMs } from '../harness/times.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';
import { buildLastRelease, installLastRelease, lacksLastRelease, migrateBy } from './last-release.ts';
import { fillLargeTables } from './many-rows.ts';

const ROWS = 1_000_000;
const OUTCOME_MS_MAX = 300;
const PROCESSES: readonly ProcessName[] = ['api', 'relay', 'worker'];
const PER_SECOND = 20;
const SIDE_BY_SIDE_MS = 3_000;
const REPORT_SECONDS = 3;
/** Short, so that most of what the migration locks is being read. */
const BETWEEN_REPORTS_MS = 300;
const SAMPLE_EVERY_MS = 10;

export const migratedBesideTheLastRelease: Experiment = {
  number: 48,
  title: 'a million rows of the last release are migrated under load, and its processes replaced by ours',
  shows: `nobody waits over ${OUTCOME_MS_MAX} ms for the migration, though reports read the tables; nothing is lost`,
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
    // The producer's causes are of today's code; those of mail are the last release's own.
    const mailing = new AbortController();
    const mail = world.producer.mail(Infinity, { through: world.api, atOnce: 1, until: mailing.signal });
    await quick.arrived(2 * PER_SECOND);

    await migrateUnderWatch(world, quick);
    for (const old of running) {
      await world.start(old.name);
      await world.stop(old);
      await delay(world.scaled(SIDE_BY_SIDE_MS));
    }
    mailing.abort();
    await mail;
    await load.stop();
    await removeRows();
  },
};

/** Reports hold the tables meanwhile, so that the migration has to try. */
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

/** The longest wait for a table of those that the migration holds up now. Others wait for housekeeping, too. */
const LONGEST_WAIT = `
  select extract(epoch from clock_timestamp() - waitstart)::float8 * 1000 as ms, application_name as waiting
  from pg_locks join pg_stat_activity waiting using (pid)
  where not granted and locktype = 'relation' and datname = current_database() and exists (
    select from pg_stat_activity migrator
    where migrator.application_name = 'postrider-migrate' and migrator.pid = any (pg_blocking_pids(waiting.pid)))
  order by 1 desc nulls last limit 1`;
