import { windowMs } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { keepToDatabase, reconnectOnError } from '@postrider/runtime';
import { Redis } from 'ioredis';
import { failClosed, LIMITER_TIMEOUT_MS } from './fail-closed.ts';
import type { LimiterOptions } from './fail-closed.ts';

/**
 * Charges one key. Redis runs a script as one step and reads its clock once.
 *
 * Guarantee: concurrent charges that return 1 in one window never cost more than the limit together. The
 * first charge of a window is the exception: it may cost any amount. A refused charge changes nothing, not
 * even the window's end.
 *
 * Parameters: KEYS[1] is the key's counter, which exists as long as its window. ARGV[1] cost, ARGV[2] limit,
 * ARGV[3] length in milliseconds of a window that starts now. Returns 1 when allowed, 0 when refused.
 */
const CHARGE_SCRIPT = `
local used = redis.call('GET', KEYS[1])
if not used then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
  return 1
end
if tonumber(used) + tonumber(ARGV[1]) > tonumber(ARGV[2]) then
  return 0
end
redis.call('INCRBY', KEYS[1], ARGV[1])
return 1
`;

export interface RedisRateLimiterOptions extends LimiterOptions {
  readonly redisUrl: string;
  /** The prefix of every key: `<prefix>:rate:{<key>}`. */
  readonly prefix: string;
  /** Receives errors of the connection. The limiter reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

const RECONNECT_DELAY_MS_MAX = 1000;
/** The counter of a check need not stay. */
const CHECK_WINDOW_MS = 1;

/** ioredis runs the script with EVALSHA, and with EVAL when the server has forgotten it. */
type ChargingRedis = Redis & {
  charge(key: string, cost: number, limit: number, windowMs: number): Promise<0 | 1>;
};

/**
 * Stores the limit in Redis, one counter per active key. It starts to connect at once, in the background. A
 * charge before the first connection waits for it, within its time limit. FLUSHALL restarts every window.
 */
export function createRedisRateLimiter(
  options: RedisRateLimiterOptions,
): RateLimiter & { check(): Promise<void>; close(): void } {
  const { prefix, timeoutMs = LIMITER_TIMEOUT_MS, windowLengthMs } = options;
  const redis = failFastClient(options.redisUrl, timeoutMs);
  redis.on('error', options.onError ?? (() => undefined));
  // Settles when the first connection attempt has succeeded or failed. Later charges do not wait.
  const firstTry = redis.connect().catch(() => undefined);

  const ask = (isAllowed: () => Promise<boolean>) =>
    failClosed(async () => firstTry.then(isAllowed), options);

  return {
    charge: (key, cost, limitPerMinute) =>
      ask(async () => {
        const length = windowMs(cost, limitPerMinute, windowLengthMs);
        return (await redis.charge(`${prefix}:rate:{${key}}`, cost, limitPerMinute, length)) === 1;
      }),
    peek: (key, limitPerMinute) =>
      ask(async () => Number((await redis.get(`${prefix}:rate:{${key}}`)) ?? 0) < limitPerMinute),
    /** Charges a key that is no API key. @throws the error that a charge would get. */
    async check() {
      await redis.charge(`${prefix}:rate:{}`, 0, 1, CHECK_WINDOW_MS);
    },
    close: () => redis.disconnect(),
  };
}

/**
 * A client that fails fast: it has no offline queue and no retry, and it reconnects. Its own time limits find
 * a connection that died silently, also in the handshake. They are longer than the limit of `failClosed`,
 * which reads the sockets once more before it refuses.
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
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_DELAY_MS_MAX),
    reconnectOnError,
    // The ready check would wait on a connection while its server loads data. Without it the first charge
    // fails and reconnects.
    enableReadyCheck: false,
    scripts: { charge: { numberOfKeys: 1, lua: CHARGE_SCRIPT } },
  });
  keepToDatabase(redis);
  return redis as ChargingRedis;
}
