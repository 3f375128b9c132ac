import type { AccountId, WebhookId } from '@postrider/domain';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { emptyAll, startAnew, warmUp } from '../load/start-anew.ts';
import { measureLoads } from '../load/steady-load.ts';
import type { Arrival, Ends } from '../load/steady-load.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';
import { FULL } from '../sizes.ts';
import type { Sizes } from '../sizes.ts';
import { medianBySecond, NOT_MEASURED, P99_MS_MAX, recoveryOf, TIMES_UNDISTURBED_MAX } from './recovery.ts';
import type { Recovery } from './recovery.ts';

/** A disturbance of the load. */
interface Disturbance {
  readonly id: string;
  readonly title: string;
  /** Sentences about it, for the page. */
  readonly how: string;
  /** True: the load begins without running processes. False: with warm processes. */
  readonly cold: boolean;
  /** Disturbs the running load. Resolves when the disturbance is over. */
  disturb(installation: Installation, sizes: Sizes): Promise<void>;
}

const TENANTS = ['A', 'B'] as const;
const CALLER_CONNECTIONS = 8;
/** A round takes almost a minute. */
const ROUNDS_MAX = 3;
/** The load lasts this much longer than the measured window, because a process needs time to start. */
const SPARE_SECONDS = 3;

const { perSecond, leadInSeconds, withinSeconds, windowSeconds } = FULL.recovery;
const HOW =
  `One webhook, A, gets ${perSecond.A} events a second, another account's, B, ${perSecond.B}; both answer at once. First ` +
  `the p99 from commit to arrival is taken undisturbed over ${windowSeconds} seconds, with a relay and a worker that are ` +
  `warm; then, in a load of its own, over ${windowSeconds} seconds that begin ${withinSeconds} seconds after the disturbance is over.`;

/** The figure of one disturbance. */
function recoveryFigure(disturbance: Disturbance): Figure {
  return {
    id: disturbance.id,
    title: disturbance.title,
    group: 'load',
    how: `${disturbance.how} ${HOW}`,
    limitSeconds: 360,
    async run(fixture) {
      const prepared = await prepare(fixture);
      const measure = () => oneRound(fixture, prepared, disturbance);
      return measurement(disturbance, await measureRounds(fixture, measure, describe, ROUNDS_MAX));
    },
  };
}

interface Prepared extends Ends {
  readonly installation: Installation;
  readonly accounts: readonly AccountId[];
  readonly webhooks: readonly WebhookId[];
}

/** The load of each tenant. */
type Round = readonly Recovery[];

async function prepare(fixture: Fixture): Promise<Prepared> {
  const { process: receiver, origins } = await fixture.receiver();
  const installation = await fixture.install();
  const accounts: AccountId[] = [];
  const webhooks: WebhookId[] = [];
  for (const [index] of TENANTS.entries()) {
    const account = await installation.addAccount();
    accounts.push(account);
    webhooks.push(...(await installation.addWebhooks(account, [`${origins[index] ?? ''}/at-once`])));
  }
  return {
    installation,
    receiver,
    caller: fixture.caller(installation, CALLER_CONNECTIONS),
    accounts,
    webhooks,
  };
}

async function oneRound({ sizes }: Fixture, prepared: Prepared, disturbance: Disturbance): Promise<Round> {
  const { installation, webhooks } = prepared;
  const { recovery } = sizes;
  const load = (seconds: number): Promise<Arrival[][]> =>
    measureLoads(
      prepared,
      TENANTS.map((tenant, index) => ({
        accountIds: prepared.accounts.slice(index, index + 1),
        perSecond: recovery.perSecond[tenant],
        seconds,
      })),
    );
  await startAnew(installation);
  await warmUp(installation, webhooks, load);
  const undisturbed = await load(recovery.windowSeconds);
  if (disturbance.cold) {
    await installation.stopAll('at once');
    await emptyAll(installation);
  }

  const disturb = async (): Promise<number> => {
    await wait(recovery.leadInSeconds);
    await disturbance.disturb(installation, sizes);
    return monotonicMs();
  };
  const lasts = recovery.leadInSeconds + recovery.frozenSeconds + SPARE_SECONDS;
  const [overAtMs, arrivals] = await Promise.all([
    disturb(),
    load(lasts + recovery.withinSeconds + recovery.windowSeconds),
  ]);
  await installation.stopAll('at once');
  return arrivals.map((disturbed, index) =>
    recoveryOf({ undisturbed: undisturbed[index] ?? [], disturbed, overAtMs }, recovery),
  );
}

function measurement({ id, title }: Disturbance, rounds: readonly Round[]): Outcome {
  const tenants = TENANTS.map((tenant, index) => {
    const recoveries = rounds.map((round) => round[index] ?? NOT_MEASURED);
    return { tenant, recoveries, ...judging(recoveries) };
  });
  const within = `p99 ${withinSeconds} s later`;
  return {
    checks: tenants.flatMap(({ tenant, check }) => [
      check(
        `${tenant}: ${within}, against undisturbed`,
        '×',
        { atMost: TIMES_UNDISTURBED_MAX },
        ({ after, undisturbed }) => after / undisturbed,
      ),
      check(`${tenant}: ${within}`, 'ms', { atMost: P99_MS_MAX }, ({ after }) => after),
    ]),
    values: tenants.flatMap(({ tenant, value }) => [
      value(`${tenant}: p99 undisturbed`, 'ms', ({ undisturbed }) => undisturbed),
      value(`${tenant}: last late second, after the disturbance`, 's', ({ lateSeconds }) => lateSeconds),
    ]),
    plots: [
      {
        kind: 'lines',
        logarithmic: true,
        id,
        title: `${title}: p99 from commit to arrival, second by second (median)`,
        xLabel: `second of the load; the disturbance begins at ${leadInSeconds}`,
        yLabel: 'ms',
        series: tenants.map(({ tenant, recoveries }) => ({
          name: `${tenant}, ${perSecond[tenant]}/s`,
          points: medianBySecond(recoveries),
        })),
      },
    ],
  };
}

function describe(round: Round): string {
  return round
    .map(
      ({ undisturbed, after, lateSeconds }, index) =>
        `${TENANTS[index] ?? ''} p99 ${undisturbed.toFixed(0)} ms undisturbed, ${after.toFixed(0)} ms ` +
        `${withinSeconds} s later, late for ${lateSeconds.toFixed(1)} s`,
    )
    .join('; ');
}

function wait(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

export const coldStart = recoveryFigure({
  id: 'cold-start',
  title: 'Recovery after a cold start under load',
  how: 'Events have been recorded for a second when a relay and a worker are started, after one another.',
  cold: true,
  async disturb(installation) {
    await installation.start('relay');
    await installation.start('worker');
  },
});

export const frozenWorker = recoveryFigure({
  id: 'frozen-worker',
  title: 'Recovery after a worker was frozen',
  how: `Under load the only worker is stopped by SIGSTOP for ${FULL.recovery.frozenSeconds} seconds, then continued.`,
  cold: false,
  async disturb({ processes }, { recovery }) {
    const worker = processes.find(({ name }) => name === 'worker');
    if (worker === undefined) throw new Error('no worker runs');
    process.kill(worker.pid, 'SIGSTOP');
    await wait(recovery.frozenSeconds);
    process.kill(worker.pid, 'SIGCONT');
  },
});
