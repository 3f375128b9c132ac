import type { Role } from './config/setting.ts';
import type { LogFields, Logger } from './logging/logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';
import { errorCode } from './metrics/error-code.ts';

/** An outage is over after this time without an error. Clients that cannot connect try again each second. */
const OUTAGE_ENDS_AFTER_MS = 60_000;

/**
 * Returns a function that counts and logs each error of Postgres. In one outage, the first error of each code
 * is a warning. Later errors with the same code have the level `debug`.
 * @param fields are added to each log line
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
    const level = warned.has(code) ? 'debug' : 'warn';
    warned.add(code);
    postgresErrors.inc({ code });
    logger[level]('postgres error', { ...fields, error });
  };
}
