import { queueLocation, requireQueueSchema } from '@postrider/queue';
import {
  createLifecycle,
  createLogger,
  createMetrics,
  createOperationsServer,
  errorCode,
  maskedConfig,
  systemClock,
} from '@postrider/runtime';
import {
  agreeOnMailProvider,
  createPool,
  createWakeUps,
  openDatabase,
  readiness,
  requireMigrated,
} from '@postrider/store';
import { workerConfig } from './config.ts';
import { addWorker } from './worker.ts';

const config = workerConfig();
const logger = createLogger({ level: config.logLevel, service: 'worker' });
const metrics = createMetrics('worker');
const location = queueLocation(config);
const lifecycle = createLifecycle({ logger, deadlineMs: config.shutdownDeadlineMs });

const onStoreError = (error: Error) => {
  metrics.postgresErrors.inc({ code: errorCode(error) });
  logger.warn('postgres error', { error });
};
const onQueueError = (error: Error) => {
  if (location.kind === 'redis') metrics.redisErrors.inc({ client: 'worker' });
  logger.debug('queue error', { error });
};

logger.info('configuration', { ...maskedConfig('worker', config), queue: location.kind });
if (config.deliveryAllowedNetworks.length > 0) {
  logger.warn('DEVELOPMENT ONLY: these networks are excused from the address guard', {
    networks: config.deliveryAllowedNetworks,
  });
}

/** Of the pool, this many connections are for takes, whose commits need not reach the disk. */
const LEASE_POOL_SIZE = 2;
const connection = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-worker',
  onError: onStoreError,
};
const wakeUps = createWakeUps(connection);
const database = openDatabase(
  { ...connection, size: Math.max(1, config.databasePoolSize - LEASE_POOL_SIZE) },
  wakeUps,
);
const leases = createPool({ ...connection, size: LEASE_POOL_SIZE, durableCommits: false });

lifecycle.add('database', {
  async start() {
    await requireMigrated(database.pool);
    await requireQueueSchema(location);
  },
  stop: () => Promise.all([wakeUps.close(), leases.end(), database.close()]),
});
lifecycle.add('the mail provider', {
  async start() {
    const { name: mailProvider, origin } = await agreeOnMailProvider(database, config.mailProvider);
    logger.info('mail provider', { provider: mailProvider, origin });
    if (mailProvider === 'ses' && config.publicUrl === undefined) {
      logger.warn(
        'PUBLIC_URL is not set: mail about a topic carries no link to unsubscribe (List-Unsubscribe)',
      );
    }
    addWorker(lifecycle, {
      config,
      mailProvider,
      location,
      database,
      leases,
      clock: systemClock,
      logger,
      metrics,
      onQueueError,
    });
  },
});
lifecycle.add(
  'operations server',
  createOperationsServer({
    host: config.metricsHost,
    port: config.metricsPort,
    registry: metrics.registry,
    readiness: () => readiness(database.pool),
    logger,
  }),
);

await lifecycle.run();
