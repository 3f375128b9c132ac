import type { RateLimiter } from '@postrider/domain';
import { createPostgresRateLimiter, createRedisRateLimiter } from '@postrider/rate-limit';
import { errorCode } from '@postrider/runtime';
import type { Logger, Metrics } from '@postrider/runtime';
import { createPool } from '@postrider/store';
import type { PoolOptions } from '@postrider/store';

const REDIS_PREFIX = 'postrider';

export interface LimiterOptions {
  /** Not given: the limiter keeps its counts in Postgres. */
  readonly redisUrl: string | undefined;
  /** Of the connections to Postgres. */
  readonly postgres: Omit<PoolOptions, 'durableCommits'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'api'>, 'postgresErrors' | 'redisErrors'>;
}

export type ClosableLimiter = RateLimiter & { close(): Promise<void> };

/** The limiter of this deployment: in Redis where there is one, else in Postgres. */
export function createLimiter({ redisUrl, postgres, logger, metrics }: LimiterOptions): ClosableLimiter {
  const tell = (error: Error): void => logger.warn('request refused: rate limiter unavailable', { error });
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
