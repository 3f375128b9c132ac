import { RATE_WINDOW_MS, windowMs } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { Redis } from 'ioredis';
import { CHARGE_SCRIPT } from './charge-script.ts';
import { failClosed, LIMITER_TIMEOUT_MS } from './fail-closed.ts';
import type { FailClosedOptions } from './fail-closed.ts';

export interface RedisRateLimiterOptions extends Partial<FailClosedOptions> {
  readonly redisUrl: string;
  /** Stands before every key: `<prefix>:rate:{<key>}`. */
  readonly prefix: string;
  readonly onUnavailable: FailClosedOptions['onUnavailable'];
  /** Length of an ordinary window in milliseconds; the contract's when left out. */
  readonly windowLengthMs?: number;
}

const RECONNECT_DELAY_MAX_MS = 1000;

/**
 * A server that was demoted answers like this for as long as its connections live. After a failover behind one address
 * a new connection leads to its successor. An older server wraps a script's error in a sentence of its own.
 */
const NOT_THE_PRIMARY = /\b(?:READONLY|LOADING|MASTERDOWN)\b/;

/** The script as ioredis defines it: EVALSHA, and EVAL where the server has forgotten it. */
type ChargingRedis = Redis & {
  charge(key: string, cost: number, limit: number, windowMs: number): Promise<0 | 1>;
};

/**
 * Keeps the limit in Redis, one counter for each key in use. Begins to connect at once, in the background; a
 * charge made before the first connection stands waits for it, within its time. FLUSHALL begins every window anew.
 */
export function createRedisRateLimiter(options: RedisRateLimiterOptions): RateLimiter & { close(): void } {
  const { prefix, onUnavailable, timeoutMs = LIMITER_TIMEOUT_MS, windowLengthMs = RATE_WINDOW_MS } = options;
  const redis = failFastClient(options.redisUrl, timeoutMs);
  // Settled once the first try to connect has ended either way; afterwards nobody waits.
  const firstTry = redis.connect().catch(() => undefined);

  return {
    charge: (key, cost, limitPerMinute) =>
      failClosed(
        async () => {
          await firstTry;
          const length = windowMs(cost, limitPerMinute, windowLengthMs);
          return (await redis.charge(`${prefix}:rate:{${key}}`, cost, limitPerMinute, length)) === 1;
        },
        { timeoutMs, onUnavailable },
      ),
    peek: (key, limitPerMinute) =>
      failClosed(
        async () => {
          await firstTry;
          return Number((await redis.get(`${prefix}:rate:{${key}}`)) ?? 0) < limitPerMinute;
        },
        { timeoutMs, onUnavailable },
      ),
    close: () => redis.disconnect(),
  };
}

/**
 * A client that answers at once or not at all: no queue while it is away, no second try, and it reconnects. Its own time
 * limits are for a connection that died without a word, in its handshake too; they are longer than `failClosed`'s, which
 * reads the sockets before it strikes.
 */
function failFastClient(url: string, timeoutMs: number): ChargingRedis {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 2 * timeoutMs,
    commandTimeout: 4 * timeoutMs,
    socketTimeout: 4 * timeoutMs,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_DELAY_MAX_MS),
    reconnectOnError: (error) => NOT_THE_PRIMARY.test(error.message),
    // The check would stay on a connection for as long as its server loads. Without it the first charge says so.
    enableReadyCheck: false,
    scripts: { charge: { numberOfKeys: 1, lua: CHARGE_SCRIPT } },
  });
  redis.on('error', () => undefined); // each charge that is refused for it reports it
  return redis as ChargingRedis;
}
