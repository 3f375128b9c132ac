import type { Role } from './config/setting.ts';
import type { LogFields, Logger } from './logging/logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';
import { errorCode } from './metrics/error-code.ts';

/** An outage is over after this long without an error. Clients that cannot connect try again each second. */
const OUTAGE_ENDS_AFTER_MS = 60_000;

/**
 * Returns a function that counts each error of Postgres. It logs the first one of each code in an outage as a
 * warning.
 * @param fields of each log line
 */
export function reportingPostgres(
  logger: Pick<Logger, 'debug' | 'warn'>,
  { postgresErrors }: Pick<Metrics<Role>, 'postgresErrors'>,
  fields: LogFields = {},
): (error: Error) => void {
  let lastAtMs = -Infinity;
  const warned = new Set<string>();
  return (error) => {
    const nowMs = performance.now();
    const code = errorCode(error);
    if (nowMs - lastAtMs >= OUTAGE_ENDS_AFTER_MS) warned.clear();
    lastAtMs = nowMs;
    const again = warned.has(code);
    warned.add(code);
    postgresErrors.inc({ code });
    logger[again ? 'debug' : 'warn']('postgres error', { ...fields, error });
  };
}
