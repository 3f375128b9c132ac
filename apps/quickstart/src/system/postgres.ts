import { join } from 'node:path';
import { startPostgres } from '@postrider/embedded';
import type { Settings } from '../settings.ts';
import type { RunningFile } from '../state/running-file.ts';
import type { Terminal } from '../terminal.ts';

/** Uses the Postgres of DATABASE_URL, or an embedded one: adopted, restarted or new. */
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
      // The demonstration measures from the commit, and asks Postgres for its time.
      settings: { track_commit_timestamp: 'on' },
      log: (line) => terminal.say('start', line),
    }),
  );
  running.note({ postgres: { pid: postgres.pid, url: postgres.url } });
  return postgres;
}
