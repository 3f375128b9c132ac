import { openQueueWatch, queueLocation, requireQueueSchema } from '@postrider/queue';
import { operationsServer, processShell } from '@postrider/runtime';
import { requireDatabase } from '@postrider/store';
import { openRelayPools } from './open-pools.ts';
import { addRelay } from './relay.ts';

const shell = processShell('relay', (config) => ({ queue: queueLocation(config).kind }));
const { config, logger, metrics } = shell;
const location = queueLocation(config);
const queueWatch = openQueueWatch(location, { client: 'queue', logger, metrics });
const pools = openRelayPools(config, shell.onPostgresError);

shell.lifecycle
  .add('queue watch', queueWatch)
  .add('database', {
    async start() {
      await requireDatabase(pools.pool, (line) => logger.warn(line));
      await requireQueueSchema(location);
    },
    stop: () => Promise.all([pools.leases.end(), pools.pool.end()]),
  })
  // This server starts before the relay's passes and stops after them. addRelay adds those below.
  .add(
    'operations server',
    operationsServer(shell, () => readiness()),
  );
const readiness = addRelay({ ...shell, ...pools, queueWatch });

await shell.lifecycle.run();
