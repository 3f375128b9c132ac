import type { Environment } from '@postrider/runtime';
import { StartError } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { postrider } from './command-line.ts';

/** @throws StartError that names DATABASE_URL, when it is the user's. */
export async function migrateDatabase(
  settings: Settings,
  env: Environment,
  terminal: Terminal,
): Promise<void> {
  const { applied } = (await terminal.during('migrating the database', () =>
    naming(settings.databaseUrl === undefined ? null : 'DATABASE_URL', () =>
      postrider(settings.distDir, ['migrate'], env),
    ),
  )) as { applied: readonly string[] };
  if (applied.length > 0) terminal.say('start', `migrated the database: ${applied.length} migrations`);
}

/** Checks that Redis answers. @throws StartError that names REDIS_URL, when it is the user's. */
export async function checkRedis(settings: Settings, env: Environment, terminal: Terminal): Promise<void> {
  await terminal.during('asking Redis', () =>
    naming(settings.redisUrl === undefined ? null : 'REDIS_URL', () =>
      postrider(settings.distDir, ['status', '--stopped'], env),
    ),
  );
}

async function naming<T>(variable: string | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StartError) || variable === null) throw error;
    throw new StartError(`${error.message} (${variable})`, { cause: error });
  }
}
