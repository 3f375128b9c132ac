import type { Part } from '@postrider/runtime';
import { resource } from './resource.ts';
import type { Resource } from './resource.ts';
import type { Settings } from './settings.ts';
import { takeDataDir } from './state/running-file.ts';
import type { RunningFile } from './state/running-file.ts';
import { keptSecretsKey } from './state/secrets-key.ts';
import { prepare } from './system/database.ts';
import type { Connections } from './system/environment.ts';
import { portOrFree, requirePort } from './system/ports.ts';
import { supplyPostgres } from './system/postgres.ts';
import type { StartedServer } from './system/postgres.ts';
import { supplyRedis } from './system/redis.ts';
import type { QueueServer } from './system/redis.ts';
import type { Terminal } from './terminal.ts';

/** Everything that the processes need before they start. */
export interface Prerequisites {
  readonly dataDir: Resource<RunningFile>;
  readonly port: Resource<number>;
  /** The port of the SMTP server. */
  readonly smtpPort: Resource<number>;
  readonly secretsKey: Resource<string>;
  readonly postgres: Resource<StartedServer>;
  readonly redis: Resource<QueueServer>;
  /** Migrates the database, and checks that Redis answers. */
  readonly database: Part;
  /** Callable once the parts above have started. */
  connections(): Connections;
}

export function createPrerequisites(settings: Settings, terminal: Terminal): Prerequisites {
  const dataDir = resource(
    () => takeDataDir(settings.dataDir),
    async (taken) => taken.remove(),
  );
  const port = resource(() => requirePort(settings.host, settings.port));
  const smtpPort = resource(() => portOrFree(settings.smtpHost, settings.smtpPort));
  const secretsKey = resource(async () => settings.env['SECRETS_KEY'] ?? keptSecretsKey(settings.dataDir));
  const postgres = resource(
    () => supplyPostgres(settings, dataDir.value, terminal),
    (server) => server.stop(),
  );
  const redis = resource(
    () => supplyRedis(settings, dataDir.value, terminal),
    (server) => server.stop(),
  );
  const connections = () => ({
    databaseUrl: postgres.value.url,
    redisUrl: redis.value.url,
    secretsKey: secretsKey.value,
  });
  const database = { start: () => prepare(settings, connections(), terminal) };
  return { dataDir, port, smtpPort, secretsKey, postgres, redis, database, connections };
}
