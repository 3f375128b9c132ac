import type { AccountId, WebhookId } from '@postrider/domain';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { median, quantile } from '@postrider/testing';
import { measureArrivals } from '../load/arrival-times.ts';
import { watchCores } from '../load/core-use.ts';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { judging } from '../result/result.ts';
import type { CallerCommands } from '../roles/caller.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';
import { FULL } from '../sizes.ts';
import type { Sizes } from '../sizes.ts';

/** A load beside the healthy endpoint. */
export interface Disturbance {
  readonly id: string;
  readonly title: string;
  /** The sentences of the page about this load. */
  readonly how: string;
  /** The number of accounts that own the endpoints, in turn. Default: 1. */
  readonly accounts?: number;
  /** The healthy load's duration before the measured time, also alone. Default: that of the sizes. */
  readonly leadInSeconds?: (sizes: Sizes) => number;
  /** @param origins of a second receiver, on the same hosts as the healthy endpoint */
  readonly endpoints: (sizes: Sizes, origins: readonly string[]) => string[];
  /**
   * Limit of p99 beside the disturbance divided by p99 alone, when all cores are busy. Default: {@link
   * BESIDE_AT_MOST}.
   */
  readonly besideAtMostOnFullCores?: number;
  /** Inserts deliveries for `endpoints`, and wakes the relay. */
  queue(installation: Installation, webhooks: readonly WebhookId[], sizes: Sizes): Promise<void>;
}

/** The healthy endpoint's p99 beside a disturbance, divided by its p99 alone. */
const BESIDE_AT_MOST = 2;
/** Above this busy share no core is free. */
const FULL_CORES_SHARE = 0.9;
const CALLER_CONNECTIONS = 8;
/** A webhook starves when a delivery is due for longer without an attempt. */
const STARVING_AFTER_SECONDS = 5;

const HOW =
  `A healthy endpoint gets ${FULL.eventsPerSecond} events a second, a transaction each; its p99 from commit to arrival is taken ` +
  'alone and beside the disturbance, in turn. Every run begins with empty tables, an empty Redis, and a relay and a ' +
  'worker that have just been started and warmed up on the healthy endpoint. Its events begin a second or more before the ' +
  'measured time, alone and, once the disturbance is queued, beside it. A webhook starves when at the end of a run it has had something due for 5 seconds ' +
  'or more, and no attempt: neither in the log nor in flight.';

/** The figure of one disturbance. */
export function isolationFigure(disturbance: Disturbance): Figure {
  return {
    id: disturbance.id,
    title: disturbance.title,
    group: 'isolation',
    how: `${disturbance.how} ${HOW}`,
    limitSeconds: 300,
    async run(fixture) {
      const prepared = await prepare(fixture, disturbance);
      const oneRound = async (): Promise<Round> => {
        const { p99: alone } = await oneRun(fixture, prepared, disturbance, 'alone');
        const { p99: beside, ...rest } = await oneRun(fixture, prepared, disturbance, 'beside it');
        return { alone, beside, ...rest };
      };
      const rounds = await measureRounds(fixture, oneRound, describe);
      return measurement(rounds, prepared.disturbing.length, disturbance);
    },
  };
}

interface Prepared {
  readonly installation: Installation;
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly caller: RoleProcess<CallerCommands>;
  readonly healthyAccount: AccountId;
  readonly healthy: readonly WebhookId[];
  readonly disturbing: readonly WebhookId[];
}

interface Round {
  /** The p99 of the healthy endpoint, in milliseconds. */
  readonly alone: number;
  readonly beside: number;
  readonly starving: number;
  /** Busy share of the cores beside the disturbance, 0 to 1. */
  readonly coresBusy: number;
}

async function prepare(fixture: Fixture, disturbance: Disturbance): Promise<Prepared> {
  const { process: receiver, origins } = await fixture.receiver();
  const { origins: disturbingOrigins } = await fixture.receiver();
  const installation = await fixture.install();
  const healthyAccount = await installation.addAccount();
  return {
    installation,
    receiver,
    healthyAccount,
    caller: fixture.caller(installation, CALLER_CONNECTIONS),
    healthy: await installation.addWebhooks(healthyAccount, [`${origins[0] ?? ''}/at-once`]),
    disturbing: await addDisturbing(installation, disturbance, fixture.sizes, disturbingOrigins),
  };
}

async function addDisturbing(
  installation: Installation,
  { accounts = 1, endpoints }: Disturbance,
  sizes: Sizes,
  origins: readonly string[],
): Promise<WebhookId[]> {
  const all = endpoints(sizes, origins);
  const webhooks: WebhookId[] = [];
  for (let account = 0; account < accounts; account += 1) {
    const own = all.filter((_, index) => index % accounts === account);
    webhooks.push(...(await installation.addWebhooks(await installation.addAccount(), own)));
  }
  return webhooks;
}

/**
 * @returns the healthy endpoint's p99 in ms, the starving webhooks of the disturbance, and the cores' busy
 * share
 */
async function oneRun(
  { sizes }: Fixture,
  prepared: Prepared,
  disturbance: Disturbance,
  where: 'alone' | 'beside it',
): Promise<{ p99: number; starving: number; coresBusy: number }> {
  const { installation, receiver, caller, healthyAccount: accountId, healthy } = prepared;
  const { seconds } = sizes.isolation;
  const steady = { receiver, caller, accountId, perSecond: sizes.eventsPerSecond };
  await startAnew(installation);
  const load = (forSeconds: number) => measureArrivals({ ...steady, seconds: forSeconds });
  await warmUp(installation, healthy, load);
  if (where === 'beside it') await disturbance.queue(installation, prepared.disturbing, sizes);
  const leadInSeconds = disturbance.leadInSeconds?.(sizes) ?? sizes.isolation.leadInSeconds;
  await load(leadInSeconds);
  const busyShare = watchCores();
  const { sinceCommit } = await load(seconds);
  const coresBusy = busyShare();
  const starving = await countStarving(prepared);
  await installation.stopAll('at once');
  return { p99: quantile(sinceCommit, 0.99), starving, coresBusy };
}

async function countStarving({ installation, disturbing }: Prepared): Promise<number> {
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

function measurement(rounds: readonly Round[], webhooks: number, disturbance: Disturbance): Outcome {
  const { check, value } = judging(rounds);
  const { besideAtMostOnFullCores = BESIDE_AT_MOST } = disturbance;
  const busy = median(rounds.map(({ coresBusy }) => coresBusy));
  const atMost = busy >= FULL_CORES_SHARE ? besideAtMostOnFullCores : BESIDE_AT_MOST;
  return {
    checks: [
      check('p99 beside it, against p99 alone', '×', { atMost }, ({ alone, beside }) => beside / alone),
      check(
        'starving webhooks',
        `of ${webhooks}`,
        { atMost: 0, judged: 'worst' },
        ({ starving }) => starving,
      ),
    ],
    values: [
      value('p99 alone', 'ms', ({ alone }) => alone),
      value('p99 beside it', 'ms', ({ beside }) => beside),
      value('cores busy beside it', '%', ({ coresBusy }) => coresBusy * 100),
    ],
  };
}

function describe({ alone, beside, starving, coresBusy }: Round): string {
  return (
    `p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside it; ${starving} starving; ` +
    `${(coresBusy * 100).toFixed(0)} % of the cores busy`
  );
}
