import { Resource } from './resource.ts';
import type { Settings } from './settings.ts';
import { RunningFile } from './state/running-file.ts';
import { openConsole } from './state/console-key.ts';
import { keptSecretsKey } from './state/secrets-key.ts';
import type { Connections } from './system/environment.ts';
import { choosePort, requirePort } from './system/ports.ts';
import { migrateDatabase, supplyPostgres } from './system/postgres.ts';
import { checkRedis, supplyRedis } from './system/redis.ts';
import type { Terminal } from './terminal.ts';

export type Prerequisites = ReturnType<typeof createPrerequisites>;

/** Everything that the system needs before it starts. */
export function createPrerequisites(settings: Settings, terminal: Terminal) {
  const runningFile = new Resource(
    () =>
      terminal.during('ending the processes that a killed start left', () =>
        RunningFile.take(settings.dataDir),
      ),
    async (taken) => taken.remove(),
  );
  /** The port of the API. */
  const port = new Resource(() => requirePort(settings.host, settings.port, 'PORT'));
  const smtpPort = new Resource(() =>
    choosePort(settings, settings.smtpHost, settings.smtpPort, 'INBOUND_SMTP_PORT'),
  );
  const consolePort = new Resource(() =>
    choosePort(settings, settings.consoleHost, settings.consolePort, 'CONSOLE_PORT'),
  );
  const consoleKey = new Resource(async () => openConsole(settings));
  const secretsKey = new Resource(
    async () => settings.env['SECRETS_KEY'] ?? keptSecretsKey(settings.dataDir),
  );
  const postgres = new Resource(
    () => supplyPostgres(settings, runningFile.value, terminal),
    (server) => server.stop?.(),
  );
  const redis = new Resource(
    () => supplyRedis(settings, runningFile.value, terminal),
    (server) => server.stop?.(),
  );
  /** Callable once the parts above have started. */
  const connections = (): Connections => ({
    databaseUrl: postgres.value.url,
    redisUrl: redis.value.url,
    secretsKey: secretsKey.value,
  });
  const environment = () => ({
    ...settings.env,
    DATABASE_URL: connections().databaseUrl,
    REDIS_URL: connections().redisUrl,
  });
  const database = { start: () => migrateDatabase(settings, environment(), terminal) };
  const queue = {
    async start() {
      if (redis.value.url !== undefined) await checkRedis(settings, environment(), terminal);
    },
  };
  return {
    runningFile,
    port,
    smtpPort,
    consolePort,
    consoleKey,
    secretsKey,
    postgres,
    redis,
    database,
    queue,
    connections,
  };
}
