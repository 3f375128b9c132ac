import { within } from '@postrider/limits';

/** The run found no work. So it does not show whether the work would succeed. */
export interface NoWork {
  /** The pause before the next run. */
  readonly noWorkForMs: number;
}

export interface PeriodicTaskOptions {
  /** Does one run. Resolves to the pause before the next run in milliseconds, or to nothing for `pauseMs`. */
  readonly run: () => Promise<number | NoWork | void>;
  /** The pause in milliseconds after a run that failed or that named no pause. */
  readonly pauseMs: number;
  /** Logs a failed run. `again` is true when an earlier run failed and no run has done work since. */
  readonly onError: (error: unknown, again: boolean) => void;
  /** Logs the first run that does work after a failure. */
  readonly onRecovery?: () => void;
}

/**
 * Repeats `run`, one run at a time.
 *
 * - Interval: the first run begins at `start`. Each later run begins one pause after the end of the run
 *   before it. `wake` skips the pause.
 * - Errors: `onError` gets the error, and the task pauses for `pauseMs`. `wake` does not shorten this pause:
 *   Postgres or the queue may be away or overloaded, and more requests would not help.
 * - Stop: no further run begins. The current run continues to its end; it may watch `stopping`.
 */
export function periodicTask({ run, pauseMs, onError, onRecovery }: PeriodicTaskOptions) {
  const stopped = new AbortController();
  const stopping = stopped.signal;
  let woken = false;
  /** True from a failed run until a run that finds work succeeds. */
  let failing = false;
  let lastRunFailed = false;
  let endPause: (() => void) | null = null;
  let ended: Promise<void> = Promise.resolve();

  /** @returns the pause before the next run, in milliseconds. */
  async function runOnce(): Promise<number> {
    try {
      lastRunFailed = false;
      const result = await run();
      if (typeof result === 'object') return result.noWorkForMs;
      if (failing) onRecovery?.();
      failing = false;
      return result ?? pauseMs;
    } catch (error) {
      onError(error, failing);
      failing = lastRunFailed = true;
      return pauseMs;
    }
  }

  async function pause(ms: number): Promise<void> {
    if ((woken && !lastRunFailed) || stopping.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function repeat(): Promise<void> {
    while (!stopping.aborted) {
      woken = false;
      await pause(await runOnce());
    }
  }

  return {
    /** Aborted when the stop begins. */
    stopping,
    start(): void {
      ended = repeat();
    },
    /** Asks for a run now, or right after the current run. Any number of calls lead to one run. */
    wake(): void {
      woken = true;
      if (!lastRunFailed) endPause?.();
    },
    /** Resolves when the current run has ended, or after `timeoutMs`, if given. */
    async stop(timeoutMs?: number): Promise<void> {
      stopped.abort();
      endPause?.();
      if (timeoutMs === undefined) return ended;
      await within(
        () => ended,
        timeoutMs,
        () => undefined,
      );
    },
  };
}

export type PeriodicTask = ReturnType<typeof periodicTask>;
