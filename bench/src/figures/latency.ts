import { measureRounds } from '../figure.ts';
import type { Figure, Outcome } from '../figure.ts';
import { quantile, quantilesInWords } from '@postrider/testing';
import { BARE_BODY } from '../fixture/installation.ts';
import { measureArrivals } from '../load/arrival-times.ts';
import type { ArrivalTimes } from '../load/arrival-times.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import type { BareCommands } from '../roles/bare-posts.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';
import { judging } from '../result/result.ts';
import { FULL } from '../sizes.ts';

const CALLER_CONNECTIONS = 8;
/** V8 needs some thousands of deliveries to compile the hot code. */
const WARM_UP_BURST = 5_000;
const WARM_UP_SECONDS = 5;
/** The quantiles in the plot. */
const PLOTTED_PERCENT = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 100];

export const latency: Figure = {
  id: 'latency',
  title: `Commit to arrival at ${FULL.eventsPerSecond} events a second`,
  group: 'load',
  how:
    `With api, relay and worker running, a service records ${FULL.eventsPerSecond} events a second, a transaction each, in an ` +
    'open loop, after a burst of 5,000 and five seconds of the same to warm up. Measured is the time from the moment the service knows of its commit until the receiver has the whole ' +
    'body. The yardstick posts at the same rate to the same receiver, measured from the call of `got`.',
  limitSeconds: 240,
  async run(fixture) {
    const { receiver, installation, accountId, url, webhooks } = await installWithEndpoint(fixture);
    for (const name of ['api', 'relay', 'worker'] as const) await installation.start(name);
    const caller = fixture.caller(installation, CALLER_CONNECTIONS);
    const bare = fixture.bare();
    const { eventsPerSecond: perSecond, latencySeconds: seconds } = fixture.sizes;
    const postrider = (forSeconds: number) =>
      measureArrivals({ receiver, caller, accountId, perSecond, seconds: forSeconds });
    const yardstick = (forSeconds: number) =>
      measureBare(receiver, bare, { url, body: BARE_BODY, perSecond, seconds: forSeconds });
    await yardstick(1);
    await installation.queue(webhooks, Math.min(WARM_UP_BURST, fixture.sizes.burst));
    await installation.drained(webhooks);
    await postrider(Math.min(WARM_UP_SECONDS, seconds));

    const measure = async (): Promise<Round> => ({
      bare: await yardstick(seconds),
      postrider: await postrider(seconds),
    });
    return measurement(await measureRounds(fixture, measure, describe));
  },
};

interface Round {
  readonly bare: readonly number[];
  readonly postrider: ArrivalTimes;
}

async function measureBare(
  receiver: RoleProcess<ReceiverCommands>,
  bare: RoleProcess<BareCommands>,
  wish: Parameters<BareCommands['pace']>[0],
): Promise<number[]> {
  await receiver.call('reset', null);
  const posted = await bare.call('pace', wish);
  const arrivals = new Map(await receiver.call('arrivals', null));
  return posted.map(([id, dueAtMs]) => (arrivals.get(id) ?? Number.NaN) - dueAtMs);
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  const at =
    (q: number, times: (round: Round) => readonly number[]) =>
    (round: Round): number =>
      quantile(times(round), q);
  const sinceCommit = (round: Round) => round.postrider.sinceCommit;
  const sinceCall = (round: Round) => round.postrider.sinceCall;
  const bare = (round: Round) => round.bare;
  return {
    checks: [
      check('commit to arrival, p50', 'ms', { atMost: 5 }, at(0.5, sinceCommit)),
      check('commit to arrival, p99', 'ms', { atMost: 30 }, at(0.99, sinceCommit)),
    ],
    values: [
      value('commit to arrival, longest', 'ms', at(1, sinceCommit)),
      value('begin of the transaction to arrival, p50', 'ms', at(0.5, sinceCall)),
      value('begin of the transaction to arrival, p99', 'ms', at(0.99, sinceCall)),
      value('bare post to arrival, p50', 'ms', at(0.5, bare)),
      value('bare post to arrival, p99', 'ms', at(0.99, bare)),
    ],
    plots: [
      {
        kind: 'lines',
        logarithmic: true,
        id: 'latency',
        title: `Commit to arrival at ${FULL.eventsPerSecond}/s, all rounds together`,
        xLabel: '% of the events',
        yLabel: 'ms or less',
        series: [
          { name: 'Postrider, from the commit', points: distribution(rounds.flatMap(sinceCommit)) },
          { name: 'bare got, from the call', points: distribution(rounds.flatMap(bare)) },
        ],
      },
    ],
  };
}

function distribution(times: readonly number[]): [percent: number, ms: number][] {
  return PLOTTED_PERCENT.map((percent) => [percent, quantile(times, percent / 100)]);
}

function describe({ postrider, bare }: Round): string {
  return `Postrider ${quantilesInWords(postrider.sinceCommit)}; bare got ${quantilesInWords(bare)}`;
}
