import type { PgPool } from 'bullmq';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { Pool } from 'pg';
import { hideEvictionPolicy } from './eviction-policy.ts';

/** Where the queues live. */
export type QueueLocation =
  | {
      readonly kind: 'redis';
      readonly redisUrl: string;
      /** namespace of the keys */ readonly prefix: string;
    }
  | { readonly kind: 'postgres'; readonly databaseUrl: string };

/** The schema of BullMQ's own tables where the queues live in Postgres. */
export const QUEUE_SCHEMA = 'bullmq';

const RECONNECT_DELAY_MS_MAX = 2_000;

/**
 * A server that was demoted answers like this for as long as its connections live. After a failover behind one address
 * a new connection leads to its successor. An older server wraps a script's error in a sentence of its own.
 */
const NOT_THE_PRIMARY = /\b(?:READONLY|LOADING|MASTERDOWN)\b/;

const SHARED = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  // A server that does not say goodbye does not keep the process.
  disconnectTimeout: 200,
  retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_DELAY_MS_MAX),
  reconnectOnError: (error: Error) => NOT_THE_PRIMARY.test(error.message),
  // The check would stay on a connection for as long as its server loads. Without it the first command says so.
  enableReadyCheck: false,
} satisfies RedisOptions;

/**
 * Fails at once while Redis is away, and within 2 s when it hangs: the relay's rows stay in Postgres meanwhile. The
 * socket time-out finds a connection that died without a word, which a command time-out alone would leave in use.
 */
const PRODUCER = {
  ...SHARED,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 2_000,
  socketTimeout: 4_000,
} satisfies RedisOptions;

/**
 * Waits for Redis as long as it takes. The socket time-out (above BullMQ's longest blocking read, 10 s) finds a
 * connection that died without a word; a command time-out would break blocking reads.
 */
const CONSUMER = { ...SHARED, maxRetriesPerRequest: null, socketTimeout: 15_000 } satisfies RedisOptions;

export function connectRedis(
  redisUrl: string,
  role: 'producer' | 'consumer',
  onError: (error: Error) => void,
): Redis {
  const redis = hideEvictionPolicy(new Redis(redisUrl, role === 'producer' ? PRODUCER : CONSUMER));
  redis.on('error', onError);
  return redis;
}

/** One pool for the queues of a process. A consumer keeps one of its connections to itself, for LISTEN. */
export function connectQueuePool(
  databaseUrl: string,
  size: number,
  onError: (error: Error) => void,
): Pool & PgPool {
  const pool = new Pool({
    connectionString: withSearchPath(databaseUrl),
    max: size,
    application_name: 'postrider-queue',
    connectionTimeoutMillis: 5_000,
    query_timeout: 20_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  pool.on('error', onError);
  // A connection that is checked out and between two statements has nobody else to tell (see the store's pool).
  pool.on('connect', (client) => client.on('error', () => undefined));
  // BullMQ's own type of a pool has one more overload of `on`; it asks for nothing that pg's pool lacks.
  return pool as Pool & PgPool;
}

/** Adds to the options that the URL may bring of its own: of two lists, the driver would drop ours. */
function withSearchPath(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const given = url.searchParams.get('options');
  const ours = `-c jit=off -c search_path=${QUEUE_SCHEMA}`;
  url.searchParams.set('options', given === null ? ours : `${given} ${ours}`);
  return url.href;
}
