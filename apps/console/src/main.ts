import { Producer, queueLocation } from '@postrider/queue';
import { processShell, systemClock } from '@postrider/runtime';
import { createWakeUps, openDatabase, openReadDatabase, readiness, requireDatabase } from '@postrider/store';
import { createConsole } from './app.ts';
import { ConsoleServer } from './server.ts';

/** The shutdown keeps this much of its deadline to close Postgres after the last request. */
const CLOSING_TIME_MS = 2_000;
/** Connections for sign-in and actions. The pages have the others; the wake-ups use one more. */
const ACTION_CONNECTIONS = 2;

const { config, logger, metrics, lifecycle, onPostgresError } = processShell('console');

const postgres = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-console',
  onError: onPostgresError,
};
const wakeUps = createWakeUps(postgres);
const actions = openDatabase({ ...postgres, size: ACTION_CONNECTIONS }, wakeUps);
const reads = openReadDatabase({
  ...postgres,
  size: Math.max(1, config.databasePoolSize - ACTION_CONNECTIONS - 1),
});
const queue = new Producer(queueLocation(config), (error) => logger.debug('queue error', { error }));
const app = createConsole({
  config,
  reads,
  actions,
  clock: systemClock,
  readiness: () => readiness(actions.pool),
  readQueueDepth: () => queue.depth(),
  logger,
  metrics,
});
const server = new ConsoleServer(app);

await lifecycle
  .add('wake-ups', { stop: () => wakeUps.close() })
  .add('queue', { stop: () => queue.close() })
  .add('database', {
    start: () => requireDatabase(actions.pool, (line) => logger.warn(line)),
    stop: () => Promise.all([reads.close(), actions.close()]),
  })
  .add('HTTP server', {
    async start() {
      const port = await server.listen(config.consolePort, config.consoleHost);
      logger.info('listening', { host: config.consoleHost, port });
    },
    stop: (remainingMs) => server.stop(Math.max(0, remainingMs - CLOSING_TIME_MS)),
  })
  .run();
