import { StartError } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { postrider } from './command-line.ts';

/**
 * Migrates the database, and checks that Redis answers. @throws StartError that names the variable to check.
 */
export async function prepare(
  settings: Settings,
  connections: { readonly databaseUrl: string; readonly redisUrl: string | undefined },
  terminal: Terminal,
): Promise<void> {
  const env = { ...settings.env, DATABASE_URL: connections.databaseUrl, REDIS_URL: connections.redisUrl };
  const { applied } = (await terminal.during('migrating the database', () =>
    naming(settings.databaseUrl === undefined ? null : 'DATABASE_URL', () =>
      postrider(settings.distDir, ['migrate'], env),
    ),
  )) as { applied: readonly string[] };
  if (applied.length > 0) terminal.say('start', `migrated the database: ${applied.join(', ')}`);
  if (connections.redisUrl === undefined) return;
  await terminal.during('asking Redis', () =>
    naming(settings.redisUrl === undefined ? null : 'REDIS_URL', () =>
      postrider(settings.distDir, ['status'], env),
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
