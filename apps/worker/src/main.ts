import { openQueueWatch, queueLocation, requireQueueSchema } from '@postrider/queue';
import { operationsServer, poolShares, processShell } from '@postrider/runtime';
import { createPool, createWakeUps, openDatabase, requireDatabase } from '@postrider/store';
import { addWorker } from './worker.ts';

const shell = processShell('worker', (config) => ({ queue: queueLocation(config).kind }));
const { config, logger, metrics } = shell;
const location = queueLocation(config);
const queueWatch = openQueueWatch(location, { client: 'worker', logger, metrics });

const connection = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-worker',
  onError: shell.onPostgresError,
};
const wakeUps = createWakeUps(connection);
const shares = poolShares(config.databasePoolSize);
const database = openDatabase({ ...connection, size: shares.others }, wakeUps);
const leases = createPool({ ...connection, size: shares.leases, durableCommits: false });

shell.lifecycle.add('queue watch', queueWatch).add('database', {
  async start() {
    await requireDatabase(database.pool, (line) => logger.warn(line));
    await requireQueueSchema(location);
  },
  stop: () => Promise.all([wakeUps.close(), leases.end(), database.close()]),
});
const readiness = addWorker({ ...shell, database, leases, queueWatch });
// A worker with a wrong mail provider ends before it listens. The consumers start after this server, and stop
// before it.
shell.lifecycle.add('operations server', operationsServer(shell, readiness));

await shell.lifecycle.run();
