import { errorCode, processShell } from '@postrider/runtime';
import { createWakeUps, openDatabase, requireDatabase } from '@postrider/store';
import { addApi } from './api.ts';
import { connectionShares } from './connection-shares.ts';

const shell = processShell('api');
const { config, logger, metrics } = shell;

const limiterIsInPostgres = config.redisUrl === undefined;
const shares = connectionShares(config.databasePoolSize, limiterIsInPostgres);
const postgres = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-api',
  onError(error: Error) {
    metrics.postgresErrors.inc({ code: errorCode(error) });
    logger.warn('connection to Postgres lost', { error });
  },
};
const wakeUps = createWakeUps(postgres);
const database = openDatabase({ ...postgres, size: shares.stores }, wakeUps);
const keyDatabase = openDatabase({ ...postgres, size: shares.keys }, wakeUps);

shell.lifecycle.add('database', {
  start: () => requireDatabase(database.pool, (line) => logger.warn(line)),
  stop: () => Promise.all([wakeUps.close(), database.close(), keyDatabase.close()]),
});
addApi({
  ...shell,
  database,
  storeConnections: shares.stores,
  keyDatabase,
  limiterConnection: { ...postgres, size: shares.limiter },
});

await shell.lifecycle.run();
