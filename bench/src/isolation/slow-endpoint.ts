import type { AccountId, WebhookId } from '@postrider/domain';
import type { Figure, Fixture } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { quantile } from '@postrider/testing';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { latenessMs, measureLoads } from '../load/steady-load.ts';
import type { Arrival, Ends } from '../load/steady-load.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';
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
export function slowEndpointFigure({ id, takesMs, perSecond }: SlowEndpoint): Figure {
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
      const rounds: Round[] = [];
      const count = Math.min(fixture.rounds, ROUNDS_MAX);
      for (let round = 1; round <= count; round += 1) {
        const [alone] = await oneRun(fixture.sizes, prepared, 0);
        const [beside, slow] = await oneRun(fixture.sizes, prepared, perSecond);
        rounds.push({ alone: p99(alone), beside: p99(beside), slow: slow.map(latenessMs) });
        fixture.say(`round ${round} of ${count}: ${describe(rounds.at(-1))}`);
      }
      return measurement(rounds);
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

function measurement(rounds: readonly Round[]): Measurement {
  const each = (of: (round: Round) => number): number[] => rounds.map(of);
  return {
    checks: [
      checkOf(
        'the slow endpoint: commit to arrival, p50',
        'ms',
        each(({ slow }) => quantile(slow, 0.5)),
        { atMost: ARRIVAL_P50_MS_MAX },
      ),
      checkOf(
        'p99 beside it, against p99 alone',
        '×',
        each(({ alone, beside }) => beside / alone),
        { atMost: BESIDE_ALONE_MAX },
      ),
    ],
    values: [
      valueOf(
        'the slow endpoint: commit to arrival, p99',
        'ms',
        each(({ slow }) => quantile(slow, 0.99)),
      ),
      valueOf(
        'p99 alone',
        'ms',
        each(({ alone }) => alone),
      ),
      valueOf(
        'p99 beside it',
        'ms',
        each(({ beside }) => beside),
      ),
    ],
    tables: [],
    plots: [],
  };
}

function leadInSecondsOf({ slowEndpoint }: Sizes, takesMs: number): number {
  return slowEndpoint.leadInSeconds + Math.ceil((ANSWERS_BEFORE * takesMs) / 1000);
}

function p99(arrivals: readonly Arrival[]): number {
  return quantile(arrivals.map(latenessMs), 0.99);
}

function describe(round: Round | undefined): string {
  if (round === undefined) return '';
  const { alone, beside, slow } = round;
  return (
    `slow endpoint p50 ${quantile(slow, 0.5).toFixed(0)} ms, p99 ${quantile(slow, 0.99).toFixed(0)} ms; ` +
    `quick one p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside it`
  );
}
