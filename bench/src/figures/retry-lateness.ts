import type { WebhookId } from '@postrider/domain';
import { measureRounds } from '../figure.ts';
import type { Figure } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { quantile, quantilesInWords } from '@postrider/testing';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { judging } from '../result/result.ts';
import { FULL } from '../sizes.ts';
import type { Sizes } from '../sizes.ts';

/** The contract: a due retry starts within 1 s while capacity is free. */
export const LATE_MS_MAX = 1_000;
/** A retry may seem this early: the log counts back from Postgres's clock in whole milliseconds. */
const EARLY_MS_MAX = 50;
/** A round takes about 40 s per number of retries. */
const ROUNDS_MAX = 3;

const { webhooks: WEBHOOKS, withinSeconds } = FULL.retries;

export const retryLateness: Figure = {
  id: 'retry-lateness',
  title: 'Retries start when they are due',
  group: 'load',
  how:
    `Deliveries whose first attempt has failed, for ${WEBHOOKS} endpoints that answer at once by now: their retries come due ` +
    `evenly over the next ${withinSeconds} seconds, the first of the contract's delays. Lateness is the time from a ` +
    "retry's due time to the start of its attempt, as the log of attempts has it. One relay and one worker, warmed up.",
  limitSeconds: 360,
  async run(fixture) {
    const { origins } = await fixture.receiver();
    const installation = await fixture.install();
    const endpoints = Array.from(
      { length: fixture.sizes.retries.webhooks },
      (_, index) => `${origins[index % origins.length] ?? ''}/at-once`,
    );
    const webhooks = await installation.addWebhooks(await installation.addAccount(), endpoints);
    const counts = fixture.sizes.retries.pending;
    /** The lateness of each retry, per number of pending retries. */
    const measure = async (): Promise<number[][]> => {
      const all: number[][] = [];
      for (const pending of counts) all.push(await oneRun(installation, webhooks, pending, fixture.sizes));
      return all;
    };
    const describeAll = (all: readonly (readonly number[])[]): string =>
      all.map((late, index) => `${counts[index] ?? 0} pending: ${latenessInWords(late)}`).join('; ');
    const { check, value } = judging(await measureRounds(fixture, measure, describeAll, ROUNDS_MAX));
    const at = (index: number, q: number) => (all: readonly (readonly number[])[]) =>
      quantile(all[index] ?? [], q);
    return {
      checks: counts.map((pending, index) =>
        check(`${pending} pending: lateness, p99`, 'ms', { atMost: LATE_MS_MAX }, at(index, 0.99)),
      ),
      values: counts.flatMap((pending, index) => [
        value(`${pending} pending: lateness, p50`, 'ms', at(index, 0.5)),
        value(`${pending} pending: lateness, longest`, 'ms', at(index, 1)),
      ]),
    };
  },
};

/** @returns the lateness of each retry, in milliseconds */
async function oneRun(
  installation: Installation,
  webhooks: readonly WebhookId[],
  pending: number,
  { retries }: Sizes,
): Promise<number[]> {
  await startAnew(installation);
  await warmUp(installation, webhooks, () => Promise.resolve());
  await installation.queue(webhooks, pending, { attempts: 1, dueWithinSeconds: retries.withinSeconds });
  await new Promise((resolve) => setTimeout(resolve, retries.withinSeconds * 1000));
  await installation.drained(webhooks);
  await installation.stopAll('gently');
  const late = await readLateness(installation, { dueWithinSeconds: retries.withinSeconds, pending });
  if (late.length !== pending) throw new Error(`${late.length} of ${pending} retries are in the log`);
  return late;
}

/** The retries that `queue` has spread, and the time in which those that are read come due. */
interface SpreadRetries {
  readonly dueWithinSeconds: number;
  readonly pending: number;
  readonly fromSeconds?: number;
  readonly untilSeconds?: number;
}

/**
 * An ended delivery has no row, so no due time. `queue` spreads due times evenly, so they can be computed.
 *
 * @returns the lateness of each retry in the log, in milliseconds.
 */
export async function readLateness(
  { database }: Pick<Installation, 'database'>,
  { dueWithinSeconds, pending, fromSeconds = 0, untilSeconds = dueWithinSeconds }: SpreadRetries,
): Promise<number[]> {
  const rows = await database.query<{ late: number }>(
    `select extract(epoch from a.started_at - e.created_at)::float8 * 1000 - due.seconds * 1000 as late
     from attempts a
     join events e on e.id = a.event_id
     cross join lateral (select $1::float8 * split_part(e.id, '_', 3)::int / $2::int as seconds) due
     where a.attempt = 2 and due.seconds > $3 and due.seconds <= $4`,
    [dueWithinSeconds, pending, fromSeconds, untilSeconds],
  );
  return rows.map(({ late }) => retryLatenessMs(late));
}

/** @throws Error for a retry that started too early, which breaks the contract. */
export function retryLatenessMs(late: number): number {
  if (late < -EARLY_MS_MAX) throw new Error(`a retry started ${Math.round(-late)} ms before it was due`);
  return Math.max(0, late);
}

export function latenessInWords(late: readonly number[]): string {
  return `late ${quantilesInWords(late, 0)}, longest ${quantile(late, 1).toFixed(0)} ms`;
}
