import { openQueueIdentity, queueLocation, requireQueueSchema } from '@postrider/queue';
import { logMailProvider, operationsServer, processShell, systemClock, watchRedis } from '@postrider/runtime';
import {
  agreeOnMailProvider,
  createPool,
  createWakeUps,
  openDatabase,
  readiness,
  requireDatabase,
} from '@postrider/store';
import { addWorker } from './worker.ts';

const shell = processShell('worker', (config) => ({ queue: queueLocation(config).kind }));
const { config, logger, metrics, lifecycle, onPostgresError } = shell;
const location = queueLocation(config);

const queueIdentity = openQueueIdentity(location, (error) => redis?.onError(error));
const redis =
  location.kind === 'redis'
    ? watchRedis({ client: 'worker', check: () => queueIdentity.read(), logger, errors: metrics.redisErrors })
    : null;
const onQueueError = redis?.onError ?? ((error: Error) => logger.debug('queue error', { error }));
lifecycle.add('queue identity', { stop: async () => queueIdentity.close() });
if (redis !== null) lifecycle.add('Redis watch', redis);
if (config.deliveryAllowedNetworks.length > 0) {
  logger.warn('DEVELOPMENT ONLY: these networks are excused from the address guard', {
    networks: config.deliveryAllowedNetworks,
  });
}

/** Connections of the pool that take deliveries. These commits need not reach the disk. */
const LEASE_POOL_SIZE = 2;
const connection = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-worker',
  onError: onPostgresError,
};
const wakeUps = createWakeUps(connection);
const database = openDatabase(
  { ...connection, size: Math.max(1, config.databasePoolSize - LEASE_POOL_SIZE) },
  wakeUps,
);
const leases = createPool({ ...connection, size: LEASE_POOL_SIZE, durableCommits: false });

lifecycle.add('database', {
  async start() {
    await requireDatabase(database.pool, (line) => logger.warn(line));
    await requireQueueSchema(location);
  },
  stop: () => Promise.all([wakeUps.close(), leases.end(), database.close()]),
});
lifecycle.add('the mail provider', {
  async start() {
    const agreed = await agreeOnMailProvider(database, config.mailProvider);
    const mailProvider = agreed.name;
    logMailProvider(shell, agreed);
    if (mailProvider === 'ses' && config.publicUrl === undefined) {
      logger.warn(
        'PUBLIC_URL is not set: mail about a topic carries no link to unsubscribe (List-Unsubscribe)',
      );
    }
    addWorker(lifecycle, {
      config,
      mailProvider,
      location,
      queueIdentity,
      database,
      leases,
      clock: systemClock,
      logger,
      metrics,
      onQueueError,
      onPostgresError,
    });
  },
});
async function readinessCheck() {
  const state = await readiness(database.pool);
  const queue = redis?.isFailing() === true ? 'Redis is not available: nothing is delivered' : 'ok';
  return { ...state, parts: { ...state.parts, queue: redis === null ? state.parts.postgres : queue } };
}
lifecycle.add('operations server', operationsServer(shell, readinessCheck));

await lifecycle.run();
