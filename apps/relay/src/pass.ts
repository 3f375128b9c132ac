import { periodicTask } from '@postrider/runtime';
import type { Logger, Metrics, PeriodicTask, RelayPass } from '@postrider/runtime';

export interface PassOptions {
  /** Names the pass in the log and in the metric `passDuration`. */
  readonly name: RelayPass;
  /** Resolves to the pause before the next run, in milliseconds. */
  readonly run: () => Promise<number>;
  readonly pauseAfterErrorMs: number;
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  readonly metrics: Pick<Metrics<'relay'>, 'passDuration'>;
}

/** A periodic task that measures each run. It logs an outage once when it begins and once when it ends. */
export function createPass({ name, run, pauseAfterErrorMs, logger, metrics }: PassOptions): PeriodicTask {
  return periodicTask({
    async run() {
      const end = metrics.passDuration.startTimer({ pass: name });
      try {
        return await run();
      } finally {
        end();
      }
    },
    pauseMs: pauseAfterErrorMs,
    onError(error, again) {
      if (again) logger.debug('pass failed again', { pass: name, error });
      else logger.warn('pass failed', { pass: name, error });
    },
    onRecovery: () => logger.info('pass recovered', { pass: name }),
  });
}
