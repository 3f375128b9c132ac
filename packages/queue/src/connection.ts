import { keepToDatabase, reconnectOnError } from '@postrider/runtime';
import { createPool } from '@postrider/store';
import type { PgPool } from 'bullmq';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { hideEvictionPolicy } from './eviction-policy.ts';

/** The location of the queues. */
export type QueueLocation =
  | {
      readonly kind: 'redis';
      readonly redisUrl: string;
      /** The namespace of the keys. */
      readonly prefix: string;
    }
  | { readonly kind: 'postgres'; readonly databaseUrl: string };

/** The queues are on Redis if it is configured. Otherwise they are in the database. */
export function queueLocation(config: {
  readonly redisUrl: string | undefined;
  readonly queuePrefix: string;
  readonly databaseUrl: string;
}): QueueLocation {
  return config.redisUrl === undefined
    ? { kind: 'postgres', databaseUrl: config.databaseUrl }
    : { kind: 'redis', redisUrl: config.redisUrl, prefix: config.queuePrefix };
}

/** Schema of BullMQ's own tables in Postgres. */
export const QUEUE_SCHEMA = 'bullmq';

const RECONNECT_DELAY_MS_MAX = 2_000;

const SHARED = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  // An unresponsive server does not delay the process's exit.
  disconnectTimeout: 200,
  retryStrategy: (times: number) => Math.min(50 * 2 ** times, RECONNECT_DELAY_MS_MAX),
  reconnectOnError,
  // The ready check would hold a connection while its server loads data. Without it, the first command
  // reports the error.
  enableReadyCheck: false,
} satisfies RedisOptions;

/**
 * Fails at once while Redis is unavailable, and within 2 s when it hangs. The relay's rows stay in Postgres
 * meanwhile. The socket time-out detects a silently dead connection; the command time-out alone would keep it
 * in use.
 */
const PRODUCER = {
  ...SHARED,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 2_000,
  socketTimeout: 4_000,
} satisfies RedisOptions;

/**
 * Waits for Redis without a limit. The socket time-out detects a silently dead connection. It is longer than
 * BullMQ's longest blocking read (10 s). A command time-out would break blocking reads.
 */
const CONSUMER = { ...SHARED, maxRetriesPerRequest: null, socketTimeout: 15_000 } satisfies RedisOptions;

export function connectRedis(
  redisUrl: string,
  role: 'producer' | 'consumer',
  onError: (error: Error) => void,
): Redis {
  const redis = forBullMq(new Redis(redisUrl, role === 'producer' ? PRODUCER : CONSUMER));
  redis.on('error', onError);
  return redis;
}

/** Prepares a client and its duplicates: BullMQ makes one for blocking reads. */
function forBullMq(redis: Redis): Redis {
  keepToDatabase(redis);
  hideEvictionPolicy(redis);
  const duplicate = redis.duplicate.bind(redis);
  return Object.assign(redis, {
    duplicate: (options?: Partial<RedisOptions>) => forBullMq(duplicate(options)),
  });
}

/** One pool for the queues of a process. A consumer reserves one connection for LISTEN. */
export function connectQueuePool(
  databaseUrl: string,
  size: number,
  onError: (error: Error) => void,
): ReturnType<typeof createPool> & PgPool {
  const pool = createPool({
    databaseUrl,
    size,
    applicationName: 'postrider-queue',
    durableCommits: true,
    plans: 'as Postgres chooses',
    schema: QUEUE_SCHEMA,
    onError,
  });
  // BullMQ's pool type has one more overload of `on`. It needs nothing that pg's pool lacks.
  return pool as ReturnType<typeof createPool> & PgPool;
}
