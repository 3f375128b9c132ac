import type { Role } from './config/setting.ts';
import type { LogFields, Logger } from './logging/logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';
import { errorCode } from './metrics/error-code.ts';

/** An outage is over after this long without an error. Clients that cannot connect try again each second. */
const OUTAGE_ENDS_AFTER_MS = 60_000;

/**
 * Returns a function that counts each error of Postgres, and logs the first one of an outage as a warning.
 * @param fields of each log line
 */
export function reportingPostgres(
  logger: Pick<Logger, 'debug' | 'warn'>,
  { postgresErrors }: Pick<Metrics<Role>, 'postgresErrors'>,
  fields: LogFields = {},
): (error: Error) => void {
  let lastAtMs = -Infinity;
  return (error) => {
    const nowMs = performance.now();
    const again = nowMs - lastAtMs < OUTAGE_ENDS_AFTER_MS;
    lastAtMs = nowMs;
    postgresErrors.inc({ code: errorCode(error) });
    logger[again ? 'debug' : 'warn']('postgres error', { ...fields, error });
  };
}
