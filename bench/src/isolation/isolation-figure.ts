import { Redis } from 'ioredis';
import type { AccountId, WebhookId } from '@postrider/domain';
import type { Figure, Ground } from '../figure.ts';
import type { Installation } from '../ground/installation.ts';
import { measureArrivals } from '../load/arrival-times.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';
import { quantile } from '../result/statistics.ts';
import type { CallerCommands } from '../roles/caller.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';
import { FULL } from '../sizes.ts';
import type { Sizes } from '../sizes.ts';

/** What disturbs the healthy endpoint. */
export interface Disturbance {
  readonly id: string;
  readonly title: string;
  /** One or more sentences on it, for the page. */
  readonly how: string;
  /** @param origins of a receiver of its own, on the hosts of the healthy endpoint's */
  endpoints(sizes: Sizes, origins: readonly string[]): string[];
  /** Puts its deliveries into the table and wakes the relay. */
  queue(installation: Installation, webhooks: readonly WebhookId[], sizes: Sizes): Promise<void>;
}

const CALLER_CONNECTIONS = 8;
/** Before every run: V8 has compiled what fresh processes do over and over only after some thousands of deliveries. */
const WARM_UP_BURST = 3_000;
const WARM_UP_SECONDS = 2;
/** Due for longer than this without an attempt: starving. */
const STARVING_AFTER_SECONDS = 5;

const HOW =
  `A healthy endpoint gets ${FULL.eventsPerSecond} events a second, a transaction each; its p99 from commit to arrival is taken ` +
  'alone and beside the disturbance, in turn. Every run begins with empty tables, an empty Redis, and a relay and a ' +
  'worker that have just been started and warmed up on the healthy endpoint; a second or more after the disturbance is ' +
  'queued the measured time begins. A webhook starves when at the end of a run it has had something due for 5 seconds ' +
  'or more, and no attempt: neither one in the log nor one that a worker has in hand.';

/** The figure of one disturbance. */
export function isolationFigure(disturbance: Disturbance): Figure {
  return {
    id: disturbance.id,
    title: disturbance.title,
    group: 'isolation',
    how: `${disturbance.how} ${HOW}`,
    limitSeconds: 300,
    async run(ground) {
      const bed = await prepare(ground, disturbance);
      const rounds: Round[] = [];
      for (let round = 1; round <= ground.rounds; round += 1) {
        const alone = await oneRun(ground, bed, null);
        const beside = await oneRun(ground, bed, disturbance);
        rounds.push({ alone: alone.p99, beside: beside.p99, starving: beside.starving });
        ground.say(
          `round ${round} of ${ground.rounds}: p99 ${alone.p99.toFixed(1)} ms alone, ` +
            `${beside.p99.toFixed(1)} ms beside it; ${beside.starving} starving`,
        );
      }
      return measurement(rounds, bed.disturbing.length);
    },
  };
}

interface Bed {
  readonly installation: Installation;
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly caller: RoleProcess<CallerCommands>;
  readonly healthyAccount: AccountId;
  readonly healthy: readonly WebhookId[];
  readonly disturbing: readonly WebhookId[];
}

interface Round {
  readonly alone: number;
  readonly beside: number;
  readonly starving: number;
}

async function prepare(ground: Ground, disturbance: Disturbance): Promise<Bed> {
  const { process: receiver, origins } = await ground.receiver();
  const { origins: disturbingOrigins } = await ground.receiver();
  const installation = await ground.install();
  const healthyAccount = await installation.addAccount();
  return {
    installation,
    receiver,
    healthyAccount,
    caller: ground.caller(installation, CALLER_CONNECTIONS),
    healthy: await installation.addWebhooks(healthyAccount, [`${origins[0] ?? ''}/at-once`]),
    disturbing: await installation.addWebhooks(
      await installation.addAccount(),
      disturbance.endpoints(ground.sizes, disturbingOrigins),
    ),
  };
}

/** @returns the healthy endpoint's p99 in milliseconds, and how many webhooks of the disturbance starve */
async function oneRun(
  { sizes }: Ground,
  bed: Bed,
  disturbance: Disturbance | null,
): Promise<{ p99: number; starving: number }> {
  const { installation, receiver, caller, healthyAccount: accountId, healthy } = bed;
  const { leadInSeconds, seconds } = sizes.isolation;
  await startAnew(bed);
  const steady = { receiver, caller, accountId, perSecond: sizes.eventsPerSecond };
  await installation.queue(healthy, WARM_UP_BURST);
  await installation.drained(healthy);
  await measureArrivals({ ...steady, seconds: WARM_UP_SECONDS });
  if (disturbance !== null) {
    await disturbance.queue(installation, bed.disturbing, sizes);
    await new Promise((resolve) => setTimeout(resolve, leadInSeconds * 1000));
  }
  const { sinceCommit } = await measureArrivals({ ...steady, seconds });
  const starving = await countStarving(bed);
  await installation.stopAll('at once');
  return { p99: quantile(sinceCommit, 0.99), starving };
}

/** Nothing of the run before is left: no rows, no jobs, no health that was noted, no process. */
async function startAnew({ installation }: Bed): Promise<void> {
  await installation.database.query('truncate deliveries, events, attempts, dead_letters');
  await installation.database.query(
    'update webhooks set failing_since = null where failing_since is not null',
  );
  const redis = new Redis(installation.redis.url);
  await redis.flushall();
  redis.disconnect();
  await installation.start('relay');
  await installation.start('worker');
}

async function countStarving({ installation, disturbing }: Bed): Promise<number> {
  const [row] = await installation.database.query<{ n: number }>(
    `select count(*)::int as n
     from unnest($1::text[]) w (id)
     where exists (select 1 from deliveries d
                   where d.webhook_id = w.id and d.due_at < now() - make_interval(secs => $2))
       and not exists (select 1 from deliveries d where d.webhook_id = w.id and d.taken_at is not null)
       and w.id not in (select a.webhook_id from attempts a)`,
    [disturbing, STARVING_AFTER_SECONDS],
  );
  return row?.n ?? 0;
}

function measurement(rounds: readonly Round[], webhooks: number): Measurement {
  return {
    checks: [
      checkOf(
        'p99 beside it, against p99 alone',
        '×',
        rounds.map(({ alone, beside }) => beside / alone),
        { atMost: 2 },
      ),
      checkOf(
        'starving webhooks',
        `of ${webhooks}`,
        rounds.map(({ starving }) => starving),
        { atMost: 0 },
        'worst',
      ),
    ],
    values: [
      valueOf(
        'p99 alone',
        'ms',
        rounds.map(({ alone }) => alone),
      ),
      valueOf(
        'p99 beside it',
        'ms',
        rounds.map(({ beside }) => beside),
      ),
    ],
    tables: [],
    plots: [],
  };
}
