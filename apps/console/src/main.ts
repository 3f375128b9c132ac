import { processShell } from '@postrider/runtime';
import { createWakeUps, openDatabase, openReadDatabase, requireDatabase } from '@postrider/store';
import { addConsole } from './console.ts';

/** Connections for sign-in and actions. Of the pool size, one more is for wake-ups, the rest for pages. */
const ACTION_CONNECTIONS = 2;

const shell = processShell('console');
const { config, logger } = shell;

const postgres = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-console',
  onError: shell.onPostgresError,
};
const wakeUps = createWakeUps(postgres);
const actions = openDatabase({ ...postgres, size: ACTION_CONNECTIONS }, wakeUps);
const reads = openReadDatabase({
  ...postgres,
  size: Math.max(1, config.databasePoolSize - ACTION_CONNECTIONS - 1),
});

shell.lifecycle.add('database', {
  start: () => requireDatabase(actions.pool, (line) => logger.warn(line)),
  stop: () => Promise.all([wakeUps.close(), reads.close(), actions.close()]),
});
addConsole({ ...shell, actions, reads });

await shell.lifecycle.run();
