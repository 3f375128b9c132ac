import { latenessMs } from '../load/steady-load.ts';
import type { Arrival } from '../load/steady-load.ts';
import { median, quantile } from '../result/statistics.ts';
import type { Sizes } from '../sizes.ts';

/** An endpoint is on time again when its p99 is no more than this, and no more than so many times the undisturbed one. */
export const P99_MS_MAX = 150;
export const TIMES_UNDISTURBED_MAX = 2;

/** How one endpoint's lateness recovered from a disturbance. */
export interface Recovery {
  /** p99 in milliseconds, undisturbed. */
  readonly undisturbed: number;
  /** p99 in milliseconds, over the window that is judged. */
  readonly after: number;
  /** From the end of the disturbance to that of the last second that was late. */
  readonly lateSeconds: number;
  /** p99 of each second of the load, in milliseconds. */
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
  /** Of the load that was disturbed, in the order of their commits. */
  readonly disturbed: readonly Arrival[];
  /** When the disturbance ended, by the machine's monotonic clock. */
  readonly overAtMs: number;
}

/** Events count at their commit: one that was committed in the window and arrived long after it is late. */
export function recoveryOf(
  { undisturbed, disturbed, overAtMs }: Observed,
  { withinSeconds, windowSeconds }: Pick<Sizes['recovery'], 'withinSeconds' | 'windowSeconds'>,
): Recovery {
  const alone = p99(undisturbed);
  const begunAtMs = disturbed[0]?.begunAtMs ?? Number.NaN;
  const secondsMs = (disturbed.at(-1)?.committedAtMs ?? Number.NaN) - begunAtMs;
  const bySecond = Array.from({ length: Math.floor(secondsMs / 1000) }, (_, second) =>
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

/** The median of the rounds at each second that all of them have. */
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
