import type { RateLimiter } from '@postrider/domain';
import { createPostgresRateLimiter, createRedisRateLimiter } from '@postrider/rate-limit';
import { errorCode, watchRedis } from '@postrider/runtime';
import type { Logger, Metrics } from '@postrider/runtime';
import { createPool } from '@postrider/store';
import type { PoolOptions } from '@postrider/store';

const REDIS_PREFIX = 'postrider';

export interface LimiterOptions {
  /** Undefined: the limiter keeps its counts in Postgres. */
  readonly redisUrl: string | undefined;
  readonly postgres: Omit<PoolOptions, 'durableCommits'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'api'>, 'postgresErrors' | 'redisErrors'>;
}

export type LimiterPart = RateLimiter & {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** `ok`, or the fault of its store in public words. @param postgres the state of Postgres. */
  state(postgres: string): string;
};

/** Keeps the counts in Redis when `REDIS_URL` is set, otherwise in Postgres. */
export function createLimiter({ redisUrl, postgres, logger, metrics }: LimiterOptions): LimiterPart {
  if (redisUrl === undefined) {
    const onUnavailable = createOutageLog(logger);
    return inPostgres(postgres, (error) => {
      metrics.postgresErrors.inc({ code: errorCode(error) });
      onUnavailable(error);
    });
  }
  const limiter = createRedisRateLimiter({
    redisUrl,
    prefix: REDIS_PREFIX,
    onUnavailable: (error) => watch.onError(error),
    onError: (error) => watch.onError(error),
  });
  const watch = watchRedis({
    client: 'limiter',
    check: () => limiter.check(),
    logger,
    errors: metrics.redisErrors,
  });
  return {
    ...limiter,
    start: () => watch.start(),
    async stop() {
      await watch.stop();
      limiter.close();
    },
    state: () =>
      watch.isFailing() ? 'Redis is not available: every limited request is refused with 429' : 'ok',
  };
}

/**
 * The API refuses every limited request while the limiter's Postgres is unavailable. One log line per second
 * counts the refused requests, without stacks. The metrics count each request.
 */
const OUTAGE_LOG_INTERVAL_MS = 1_000;

/** @param now milliseconds of a monotonic clock. */
export function createOutageLog(
  logger: Pick<Logger, 'warn'>,
  now = (): number => performance.now(),
): (error: Error) => void {
  let loggedAt = -Infinity;
  let requests = 0;
  return (error) => {
    requests += 1;
    if (now() - loggedAt < OUTAGE_LOG_INTERVAL_MS) return;
    logger.warn('request refused: rate limiter unavailable', { reason: error.message, requests });
    loggedAt = now();
    requests = 0;
  };
}

function inPostgres(options: LimiterOptions['postgres'], onUnavailable: (error: Error) => void): LimiterPart {
  const pool = createPool({ ...options, durableCommits: false });
  const limiter = createPostgresRateLimiter({
    query: async (sql, params) => (await pool.query<object>(sql, [...params])).rows,
    onUnavailable,
  });
  return {
    ...limiter,
    // The first charge has 250 ms. It must not spend them on opening a connection.
    start: async () => void (await pool.query('select 1')),
    stop: () => pool.end(),
    state: (postgres) => postgres,
  };
}
