import { queueLocation, requireQueueSchema } from '@postrider/queue';
import {
  createLifecycle,
  createLogger,
  createMetrics,
  createOperationsServer,
  errorCode,
  maskedConfig,
} from '@postrider/runtime';
import { readiness, requireMigrated } from '@postrider/store';
import { relayConfig } from './config.ts';
import { openRelayPools } from './open-pools.ts';
import { addRelay } from './relay.ts';

const config = relayConfig();
const logger = createLogger({ level: config.logLevel, service: 'relay' });
const metrics = createMetrics('relay');
const location = queueLocation(config);
const lifecycle = createLifecycle({ logger, deadlineMs: config.shutdownDeadlineMs });

const onStoreError = (error: Error) => {
  metrics.postgresErrors.inc({ code: errorCode(error) });
  logger.warn('postgres error', { error });
};
const onQueueError = (error: Error) => {
  if (location.kind === 'redis') metrics.redisErrors.inc({ client: 'queue' });
  logger.debug('queue error', { error });
};

logger.info('configuration', { ...maskedConfig('relay', config), queue: location.kind });

const { claims, pool } = openRelayPools(config, onStoreError);
lifecycle.add('database', {
  async start() {
    await requireMigrated(pool);
    await requireQueueSchema(location);
  },
  stop: () => Promise.all([claims.end(), pool.end()]),
});
lifecycle.add(
  'operations server',
  createOperationsServer({
    host: config.metricsHost,
    port: config.metricsPort,
    registry: metrics.registry,
    readiness: () => readiness(pool),
    logger,
  }),
);
addRelay(lifecycle, { config, location, claims, pool, logger, metrics, onQueueError, onStoreError });

await lifecycle.run();
