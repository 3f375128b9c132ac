import { median, quantile } from '@postrider/testing';
import { latenessMs } from '../load/steady-load.ts';
import type { Arrival } from '../load/steady-load.ts';
import type { Sizes } from '../sizes.ts';

/** An endpoint is on time when its p99 is below this limit and below a multiple of the undisturbed p99. */
export const P99_MS_MAX = 150;
export const TIMES_UNDISTURBED_MAX = 2;

/** The recovery of one endpoint after a disturbance. */
export interface Recovery {
  /** The p99 in milliseconds without the disturbance. */
  readonly undisturbed: number;
  /** The p99 in milliseconds over the judged window. */
  readonly after: number;
  /** From the end of the disturbance to the end of the last late second. */
  readonly lateSeconds: number;
  /** The p99 of each second of the load, in milliseconds. */
  readonly bySecond: readonly number[];
}

export const NOT_MEASURED: Recovery = {
  undisturbed: Number.NaN,
  after: Number.NaN,
  lateSeconds: Number.NaN,
  bySecond: [],
};

export interface Observed {
  readonly undisturbed: readonly Arrival[];
  /** The arrivals of the disturbed load, in the order of their commits. */
  readonly disturbed: readonly Arrival[];
  /** The end of the disturbance, by the machine's monotonic clock. */
  readonly overAtMs: number;
}

/** An event counts in the second of its commit, even if it arrives much later. */
export function recoveryOf(
  { undisturbed, disturbed, overAtMs }: Observed,
  { withinSeconds, windowSeconds }: Pick<Sizes['recovery'], 'withinSeconds' | 'windowSeconds'>,
): Recovery {
  const alone = p99(undisturbed);
  const begunAtMs = disturbed[0]?.begunAtMs ?? Number.NaN;
  const lastedMs = (disturbed.at(-1)?.committedAtMs ?? Number.NaN) - begunAtMs;
  const bySecond = Array.from({ length: Math.floor(lastedMs / 1000) }, (_, second) =>
    p99(between(disturbed, begunAtMs + second * 1000, 1)),
  );
  const bound = Math.min(P99_MS_MAX, TIMES_UNDISTURBED_MAX * alone);
  const lateUntilMs = begunAtMs + (bySecond.findLastIndex((ms) => ms > bound) + 1) * 1000;
  return {
    undisturbed: alone,
    after: p99(between(disturbed, overAtMs + withinSeconds * 1000, windowSeconds)),
    lateSeconds: Math.max(0, (lateUntilMs - overAtMs) / 1000),
    bySecond,
  };
}

/** The median of the rounds per second, up to the shortest round. */
export function medianBySecond(rounds: readonly Recovery[]): [second: number, ms: number][] {
  const seconds = Math.min(...rounds.map(({ bySecond }) => bySecond.length));
  return Array.from({ length: seconds }, (_, second) => [
    second,
    median(rounds.map(({ bySecond }) => bySecond[second] ?? Number.NaN)),
  ]);
}

function between(arrivals: readonly Arrival[], fromMs: number, seconds: number): Arrival[] {
  return arrivals.filter(
    ({ committedAtMs }) => committedAtMs >= fromMs && committedAtMs < fromMs + seconds * 1000,
  );
}

function p99(arrivals: readonly Arrival[]): number {
  return quantile(arrivals.map(latenessMs), 0.99);
}
