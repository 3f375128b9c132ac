import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What `npm start` says about itself in `.data/running.json`, as far as a command needs it. */
export interface RunningSystem {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
}

/** The system of `npm start` whose embedded Postgres runs at this moment, or null. */
export function findRunningSystem(dataDir: string): RunningSystem | null {
  const file = join(dataDir, 'running.json');
  const state = parse(textOf(file), file) as {
    readonly postgres?: { readonly pid: number; readonly url: string } | null;
    readonly redisUrl?: string | null;
  } | null;
  if (state?.postgres === undefined || state.postgres === null || !isAlive(state.postgres.pid)) return null;
  return { databaseUrl: state.postgres.url, redisUrl: state.redisUrl ?? undefined };
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return null; // no start was made, or another user's was
    throw error;
  }
}

function parse(text: string | null, file: string): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is damaged; remove it, or set DATABASE_URL`, { cause: error });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // it runs as another user
  }
}
