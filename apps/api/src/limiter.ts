import { performance } from 'node:perf_hooks';
import type { RateLimiter } from '@postrider/domain';
import { createPostgresRateLimiter, createRedisRateLimiter } from '@postrider/rate-limit';
import { errorCode } from '@postrider/runtime';
import type { Logger, Metrics } from '@postrider/runtime';
import { createPool } from '@postrider/store';
import type { PoolOptions } from '@postrider/store';

/**
 * The API refuses every request while the limiter is unavailable. One log line per second counts the refused
 * requests, without stacks. The metrics count each request.
 */
const OUTAGE_LOG_INTERVAL_MS = 1_000;

const REDIS_PREFIX = 'postrider';

export interface LimiterOptions {
  /** Undefined: the limiter keeps its counts in Postgres. */
  readonly redisUrl: string | undefined;
  readonly postgres: Omit<PoolOptions, 'durableCommits'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'api'>, 'postgresErrors' | 'redisErrors'>;
}

export type ClosableLimiter = RateLimiter & { close(): Promise<void> };

/** Keeps the counts in Redis when `REDIS_URL` is set, otherwise in Postgres. */
export function createLimiter({ redisUrl, postgres, logger, metrics }: LimiterOptions): ClosableLimiter {
  const tell = createOutageLog(logger);
  if (redisUrl === undefined) {
    return inPostgres(postgres, (error) => {
      metrics.postgresErrors.inc({ code: errorCode(error) });
      tell(error);
    });
  }
  const limiter = createRedisRateLimiter({
    redisUrl,
    prefix: REDIS_PREFIX,
    onUnavailable(error) {
      metrics.redisErrors.inc({ client: 'limiter' });
      tell(error);
    },
  });
  return { ...limiter, close: async () => limiter.close() };
}

/** @param now milliseconds of a monotonic clock. */
export function createOutageLog(
  logger: Pick<Logger, 'warn'>,
  now = (): number => performance.now(),
): (error: Error) => void {
  let toldAt = -Infinity;
  let requests = 0;
  return (error) => {
    requests += 1;
    if (now() - toldAt < OUTAGE_LOG_INTERVAL_MS) return;
    logger.warn('request refused: rate limiter unavailable', { reason: error.message, requests });
    toldAt = now();
    requests = 0;
  };
}

function inPostgres(
  options: Omit<PoolOptions, 'durableCommits'>,
  onUnavailable: (error: Error) => void,
): ClosableLimiter {
  const pool = createPool({ ...options, durableCommits: false });
  const limiter = createPostgresRateLimiter({
    query: async (sql, params) => (await pool.query<object>(sql, [...params])).rows,
    onUnavailable,
  });
  return { ...limiter, close: () => pool.end() };
}
