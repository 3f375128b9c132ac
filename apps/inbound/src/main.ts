import { operationsServer, processShell } from '@postrider/runtime';
import { createWakeUps, openDatabase, requireDatabase } from '@postrider/store';
import { addInbound } from './inbound.ts';

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
  // This server starts before the SMTP server, which addInbound adds below, and stops after it.
  .add(
    'operations server',
    operationsServer(shell, () => readiness()),
  );
const readiness = addInbound({ ...shell, database });

await shell.lifecycle.run();
