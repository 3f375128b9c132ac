import { openQueueIdentity, queueLocation, requireQueueSchema } from '@postrider/queue';
import { operationsServer, processShell, watchRedis } from '@postrider/runtime';
import { readiness, requireDatabase } from '@postrider/store';
import { openRelayPools } from './open-pools.ts';
import { addRelay } from './relay.ts';

const shell = processShell('relay', (config) => ({ queue: queueLocation(config).kind }));
const { config, logger, metrics, lifecycle, onPostgresError } = shell;
const location = queueLocation(config);

const queueIdentity = openQueueIdentity(location, (error) => redis?.onError(error));
const redis =
  location.kind === 'redis'
    ? watchRedis({ client: 'queue', check: () => queueIdentity.read(), logger, errors: metrics.redisErrors })
    : null;
const onQueueError = redis?.onError ?? ((error: Error) => logger.debug('queue error', { error }));
lifecycle.add('queue identity', { stop: async () => queueIdentity.close() });
if (redis !== null) lifecycle.add('Redis watch', redis);

const { claims, pool } = openRelayPools(config, onPostgresError);
lifecycle.add('database', {
  async start() {
    await requireDatabase(pool, (line) => logger.warn(line));
    await requireQueueSchema(location);
  },
  stop: () => Promise.all([claims.end(), pool.end()]),
});
async function readinessCheck() {
  const state = await readiness(pool);
  const queue = redis?.isFailing() === true ? 'Redis is not available: nothing is delivered' : 'ok';
  return { ...state, parts: { ...state.parts, queue: redis === null ? state.parts.postgres : queue } };
}
lifecycle.add('operations server', operationsServer(shell, readinessCheck));
addRelay(lifecycle, {
  config,
  location,
  queueIdentity,
  claims,
  pool,
  logger,
  metrics,
  onQueueError,
  onPostgresError,
});

await lifecycle.run();
