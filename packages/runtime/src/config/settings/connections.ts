import { queuePrefix, secretKeys, urlOf, wholeNumber } from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** The smallest pool of a process with all roles. `connectionShares` of apps/all divides it. */
export const SHARED_POOL_MIN = 11;

/** Connections for leases: the relay's claims and its sweep run at the same time, or the worker's takes. */
const LEASE_CONNECTIONS = 2;

/**
 * Divides the connections of a relay or of a worker.
 *
 * @param poolSize `DATABASE_POOL_SIZE`. Less than 3 acts like 3: its description says so.
 */
export function poolShares(poolSize: number): { readonly leases: number; readonly others: number } {
  return { leases: LEASE_CONNECTIONS, others: Math.max(1, poolSize - LEASE_CONNECTIONS) };
}

/** Postgres, Redis, and the keys that encrypt secrets. */
export const connectionSettings = {
  databaseUrl: defineSetting({
    key: 'DATABASE_URL',
    description:
      'Postgres, the only store of record. `npm start` brings its own. TLS: `?sslmode=verify-full`, with a private ' +
      'authority also `&sslrootcert=/path/ca.pem` (operations/scale.md).',
    schema: urlOf('postgres', 'postgresql'),
    secret: 'password',
    processes: ['api', 'relay', 'worker', 'inbound', 'console', 'all', 'cli'],
  }),
  databasePoolSize: defineSetting({
    key: 'DATABASE_POOL_SIZE',
    description:
      'Connections to Postgres of this process. A lower number acts like the least: 4 for API and console, 3 for relay, ' +
      'worker and an API with Redis, 1 for inbound. Locks, the wake-ups of workers and inbound, and a queue in Postgres ' +
      'need more (operations/scale.md).',
    unit: 'connections',
    schema: wholeNumber(1, 1000),
    default: { api: '10', relay: '6', worker: '6', inbound: '6', console: '6' },
    processes: ['api', 'relay', 'worker', 'inbound', 'console'],
  }),
  sharedPoolSize: defineSetting({
    key: 'DATABASE_POOL_SIZE',
    description:
      'Connections to Postgres of this process. Its roles share them. Locks, wake-ups and a queue in Postgres need more ' +
      '(operations/scale.md).',
    unit: 'connections',
    schema: wholeNumber(SHARED_POOL_MIN, 1000),
    default: '20',
    processes: ['all'],
  }),
  redisUrl: defineOptionalSetting({
    key: 'REDIS_URL',
    description:
      'Redis for the queue (BullMQ) and the rate limiter. Not set: both run on Postgres. TLS: `rediss://`.',
    schema: urlOf('redis', 'rediss'),
    secret: 'password',
    processes: ['api', 'relay', 'worker', 'console', 'all', 'cli'],
  }),
  queuePrefix: defineSetting({
    key: 'QUEUE_PREFIX',
    description: 'Namespace of the queues in Redis. Relay, workers and cli of one system share it.',
    schema: queuePrefix,
    default: 'postrider',
    processes: ['relay', 'worker', 'console', 'all', 'cli'],
  }),
  secretsKey: defineSetting({
    key: 'SECRETS_KEY',
    description:
      'One or more 32-byte keys in base64, comma-separated. The first encrypts signing secrets, all of them decrypt. ' +
      'To rotate, first add the new key at the end on every process, then move it to the front ' +
      '(operations/keys-and-secrets.md). `npm start` makes its own.',
    schema: secretKeys,
    secret: 'whole',
    processes: ['api', 'worker'],
  }),
  resealKeys: defineOptionalSetting({
    key: 'SECRETS_KEY',
    description: 'The keys of API and workers. Only `secrets reseal` needs them.',
    schema: secretKeys,
    secret: 'whole',
    processes: ['cli'],
  }),
};
