import { operationsServer, processShell } from '@postrider/runtime';
import { createWakeUps, openDatabase, requireDatabase } from '@postrider/store';
import { addInbound } from './inbound.ts';

// Without a handler, SIGHUP ends the process. A SIGHUP before the server exists needs no work: the server
// reads the certificate when it is created.
process.on('SIGHUP', () => undefined);

const shell = processShell('inbound');
const { config, logger } = shell;

const postgres = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-inbound',
  onError: shell.onPostgresError,
};
const wakeUps = createWakeUps(postgres);
const database = openDatabase({ ...postgres, size: config.databasePoolSize }, wakeUps);

shell.lifecycle
  .add('database', {
    start: () => requireDatabase(database.pool, (line) => logger.warn(line)),
    stop: () => Promise.all([wakeUps.close(), database.close()]),
  })
  .add(
    'operations server',
    operationsServer(shell, () => readiness()),
  );
const readiness = addInbound({ ...shell, database });

await shell.lifecycle.run();
