import { Resource } from './resource.ts';
import type { Settings } from './settings.ts';
import { RunningFile } from './state/running-file.ts';
import { keptSecretsKey } from './state/secrets-key.ts';
import { prepare } from './system/database.ts';
import type { Connections } from './system/environment.ts';
import { portOrFree, requirePort } from './system/ports.ts';
import { supplyPostgres } from './system/postgres.ts';
import { supplyRedis } from './system/redis.ts';
import type { Terminal } from './terminal.ts';

export type Prerequisites = ReturnType<typeof createPrerequisites>;

/** Everything that the processes need before they start. */
export function createPrerequisites(settings: Settings, terminal: Terminal) {
  const dataDir = new Resource(
    () => RunningFile.take(settings.dataDir),
    async (taken) => taken.remove(),
  );
  const port = new Resource(() => requirePort(settings.host, settings.port));
  /** The port of the SMTP server. */
  const smtpPort = new Resource(() => portOrFree(settings.smtpHost, settings.smtpPort));
  const secretsKey = new Resource(
    async () => settings.env['SECRETS_KEY'] ?? keptSecretsKey(settings.dataDir),
  );
  const postgres = new Resource(
    () => supplyPostgres(settings, dataDir.value, terminal),
    (server) => server.stop?.(),
  );
  const redis = new Resource(
    () => supplyRedis(settings, dataDir.value, terminal),
    (server) => server.stop?.(),
  );
  /** Callable once the parts above have started. */
  const connections = (): Connections => ({
    databaseUrl: postgres.value.url,
    redisUrl: redis.value.url,
    secretsKey: secretsKey.value,
  });
  /** Migrates the database, and checks that Redis answers. */
  const database = { start: () => prepare(settings, connections(), terminal) };
  return { dataDir, port, smtpPort, secretsKey, postgres, redis, database, connections };
}
