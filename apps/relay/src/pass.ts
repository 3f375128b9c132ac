import type { Producer } from '@postrider/queue';
import { periodicTask } from '@postrider/runtime';
import type { Logger, Metrics, NoWork, PeriodicTask, RelayPass, Shell } from '@postrider/runtime';
import type { RelayPools } from './open-pools.ts';

export interface PassMakerParts {
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  readonly metrics: Pick<Metrics<'relay'>, 'passDuration' | 'passesFailed'>;
}

type NewPass = ReturnType<typeof passMaker>;

/** The connections stay open: their opener closes them after the relay has stopped. */
export interface RelayConnections extends Shell<'relay'>, RelayPools {
  /** The pause after a failed housekeeping step. Default: 20 s. */
  readonly stepRetryAfterErrorMs?: number;
}

/** All passes get these. */
export interface PassParts extends RelayConnections {
  readonly queue: Producer;
  readonly newPass: NewPass;
}

export const PAUSE_AFTER_ERROR_MS = 500;

/**
 * Returns the function that makes passes. A pass is a periodic task that measures each run and counts failed
 * runs. Of failed runs in a row, it logs the first as a warning. It logs the next run that succeeds.
 */
export function passMaker({ logger, metrics }: PassMakerParts) {
  /**
   * @param name names the pass in the log and in the metrics `passDuration` and `passesFailed`
   * @param run resolves to the pause before the next run, in milliseconds
   */
  return (name: RelayPass, run: () => Promise<number | NoWork>, pauseAfterErrorMs: number): PeriodicTask =>
    periodicTask({
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
        metrics.passesFailed.inc({ pass: name });
        if (again) logger.debug('pass failed again', { pass: name, error });
        else logger.warn('pass failed', { pass: name, error });
      },
      onRecovery: () => logger.info('pass recovered', { pass: name }),
    });
}
