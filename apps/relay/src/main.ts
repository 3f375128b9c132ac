import { queueLocation, requireQueueSchema } from '@postrider/queue';
import { operationsServer, processShell } from '@postrider/runtime';
import { readiness, requireDatabase } from '@postrider/store';
import { openRelayPools } from './open-pools.ts';
import { addRelay } from './relay.ts';

const shell = processShell('relay', (config) => ({ queue: queueLocation(config).kind }));
const { config, logger, metrics, lifecycle, onPostgresError } = shell;
const location = queueLocation(config);

const onQueueError = (error: Error) => {
  if (location.kind === 'redis') metrics.redisErrors.inc({ client: 'queue' });
  logger.debug('queue error', { error });
};

const { claims, pool } = openRelayPools(config, onPostgresError);
lifecycle.add('database', {
  async start() {
    await requireDatabase(pool);
    await requireQueueSchema(location);
  },
  stop: () => Promise.all([claims.end(), pool.end()]),
});
lifecycle.add(
  'operations server',
  operationsServer(shell, () => readiness(pool)),
);
addRelay(lifecycle, { config, location, claims, pool, logger, metrics, onQueueError, onPostgresError });

await lifecycle.run();
