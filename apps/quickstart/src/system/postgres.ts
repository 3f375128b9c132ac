import { join } from 'node:path';
import { startPostgres } from '@postrider/embedded';
import type { Environment } from '@postrider/runtime';
import type { Settings } from '../settings.ts';
import type { RunningFile } from '../state/running-file.ts';
import type { Terminal } from '../terminal.ts';
import { naming, postrider } from './command-line.ts';

/**
 * Uses the Postgres of DATABASE_URL, or an embedded one: one that still runs, restarted or new. Only the
 * embedded one has `dataDir` and `stop`.
 */
export async function supplyPostgres(
  settings: Settings,
  running: RunningFile,
  terminal: Terminal,
): Promise<{ readonly url: string; readonly dataDir?: string; stop?(): Promise<void> }> {
  if (settings.databaseUrl !== undefined) {
    terminal.say('start', 'database: the one of DATABASE_URL');
    return { url: settings.databaseUrl };
  }
  const postgres = await terminal.during('starting the embedded Postgres', () =>
    startPostgres({
      dataDir: join(settings.dataDir, 'postgres'),
      durable: true,
      otherRemedy: 'set DATABASE_URL=postgres://user:password@host:5432/database',
      // The demonstration shows the time since the commit. Postgres must store commit times for that.
      settings: { track_commit_timestamp: 'on' },
      log: (line) => terminal.say('start', line),
    }),
  );
  running.note({ postgres: { pid: postgres.pid, url: postgres.url } });
  return postgres;
}

/** @throws StartError. When the user set DATABASE_URL, the StartError names it. */
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
