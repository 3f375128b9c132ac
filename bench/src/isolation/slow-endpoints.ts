import type { AccountId, WebhookId } from '@postrider/domain';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { quantile, quantilesInWords } from '@postrider/testing';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { latenessMs, measureLoads } from '../load/steady-load.ts';
import type { Arrival, Ends } from '../load/steady-load.ts';
import { judging } from '../result/result.ts';
import { FULL } from '../sizes.ts';
import type { Sizes } from '../sizes.ts';

/** A slow endpoint that answers 200. */
interface SlowEndpoint {
  readonly id: string;
  readonly takesMs: number;
  readonly perSecond: number;
}

const CALLER_CONNECTIONS = 8;
const BESIDE_ALONE_MAX = 2;
/** The p50 from commit to arrival. The answer follows after the endpoint's own time. */
const ARRIVAL_P50_MS_MAX = 100;
/** A round takes almost a minute. */
const ROUNDS_MAX = 3;

/** Answers before the measurement: the relay learns an endpoint's limit from its answers. */
const ANSWERS_BEFORE = 4;

const { quickPerSecond, windowSeconds } = FULL.slowEndpoint;

/** The figure of one slow endpoint beside a quick one. */
function slowEndpointFigure({ id, takesMs, perSecond }: SlowEndpoint): Figure {
  return {
    id,
    title: `Beside ${perSecond} events a second for an endpoint that takes ${takesMs / 1000} s`,
    group: 'isolation',
    how:
      `An endpoint that answers 200 after ${takesMs} ms gets ${perSecond} events a second, another account's that answers at ` +
      `once ${quickPerSecond}, a transaction each. One relay and one worker that were started and warmed up on the quick ` +
      `endpoint. The first ${leadInSecondsOf(FULL, takesMs)} seconds of the load do not count, the ${windowSeconds} after them do. The quick ` +
      "endpoint's p99 from commit to arrival is taken alone and beside the slow one, in turn. The slow endpoint's p50 from " +
      `commit to arrival may be ${ARRIVAL_P50_MS_MAX} ms: so its answers come within ${takesMs + ARRIVAL_P50_MS_MAX} ms.`,
    limitSeconds: 300,
    async run(fixture) {
      const prepared = await prepare(fixture, takesMs);
      const oneRound = async (): Promise<Round> => {
        const [alone] = await oneRun(fixture.sizes, prepared, 0);
        const [beside, slow] = await oneRun(fixture.sizes, prepared, perSecond);
        return { alone: p99(alone), beside: p99(beside), slow: slow.map(latenessMs) };
      };
      return measurement(await measureRounds(fixture, oneRound, describe, ROUNDS_MAX));
    },
  };
}

interface Prepared extends Ends {
  readonly installation: Installation;
  readonly quick: { readonly accountId: AccountId; readonly webhooks: readonly WebhookId[] };
  readonly slowAccountId: AccountId;
  readonly leadInSeconds: number;
}

interface Round {
  /** The p99 of the quick endpoint, in milliseconds. */
  readonly alone: number;
  readonly beside: number;
  /** The lateness of each event of the slow endpoint, in milliseconds. */
  readonly slow: readonly number[];
}

async function prepare(fixture: Fixture, takesMs: number): Promise<Prepared> {
  const { process: receiver, origins } = await fixture.receiver();
  const installation = await fixture.install();
  const accountId = await installation.addAccount();
  const slowAccountId = await installation.addAccount();
  const quick = await installation.addWebhooks(accountId, [`${origins[0] ?? ''}/at-once`]);
  await installation.addWebhooks(slowAccountId, [`${origins[1] ?? ''}/after-${takesMs}-ms`]);
  const caller = fixture.caller(installation, CALLER_CONNECTIONS);
  const leadInSeconds = leadInSecondsOf(fixture.sizes, takesMs);
  return {
    installation,
    receiver,
    caller,
    quick: { accountId, webhooks: quick },
    slowAccountId,
    leadInSeconds,
  };
}

/** @returns the arrivals after the lead-in, of the quick endpoint and of the slow one */
async function oneRun(
  { slowEndpoint }: Sizes,
  prepared: Prepared,
  slowPerSecond: number,
): Promise<[quick: Arrival[], slow: Arrival[]]> {
  const { installation, quick, slowAccountId, leadInSeconds } = prepared;
  const load = (seconds: number, perSecond: number): Promise<Arrival[][]> =>
    measureLoads(prepared, [
      { accountIds: [quick.accountId], perSecond: slowEndpoint.quickPerSecond, seconds },
      { accountIds: [slowAccountId], perSecond, seconds },
    ]);
  await startAnew(installation);
  await warmUp(installation, quick.webhooks, (seconds) => load(seconds, 0));
  const arrivals = await load(leadInSeconds + slowEndpoint.windowSeconds, slowPerSecond);
  await installation.stopAll('at once');
  const countsFromMs = (arrivals[0]?.[0]?.begunAtMs ?? Number.NaN) + leadInSeconds * 1000;
  const counted = arrivals.map((one) => one.filter(({ committedAtMs }) => committedAtMs >= countsFromMs));
  return [counted[0] ?? [], counted[1] ?? []];
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  return {
    checks: [
      check('the slow endpoint: commit to arrival, p50', 'ms', { atMost: ARRIVAL_P50_MS_MAX }, ({ slow }) =>
        quantile(slow, 0.5),
      ),
      check(
        'p99 beside it, against p99 alone',
        '×',
        { atMost: BESIDE_ALONE_MAX },
        ({ alone, beside }) => beside / alone,
      ),
    ],
    values: [
      value('the slow endpoint: commit to arrival, p99', 'ms', ({ slow }) => quantile(slow, 0.99)),
      value('p99 alone', 'ms', ({ alone }) => alone),
      value('p99 beside it', 'ms', ({ beside }) => beside),
    ],
  };
}

function leadInSecondsOf({ slowEndpoint }: Sizes, takesMs: number): number {
  return slowEndpoint.leadInSeconds + Math.ceil((ANSWERS_BEFORE * takesMs) / 1000);
}

function p99(arrivals: readonly Arrival[]): number {
  return quantile(arrivals.map(latenessMs), 0.99);
}

function describe({ alone, beside, slow }: Round): string {
  return (
    `slow endpoint ${quantilesInWords(slow, 0)}; ` +
    `quick one p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside it`
  );
}

/** Like ordinary serverless handlers. While none waits, 60, 48 and 80 attempts are in flight: rate × time. */
export const slowEndpoints: readonly Figure[] = [
  slowEndpointFigure({ id: 'slow-600-ms', takesMs: 600, perSecond: 100 }),
  slowEndpointFigure({ id: 'slow-1200-ms', takesMs: 1_200, perSecond: 40 }),
  slowEndpointFigure({ id: 'slow-4-s', takesMs: 4_000, perSecond: 20 }),
];
