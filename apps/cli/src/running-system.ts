import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { localServers, RUNNING_FILE } from '@postrider/runtime';
import type { LocalServers } from '@postrider/runtime';

interface RunningSystem {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
}

/** Returns the system of `npm start` if its embedded Postgres runs now, or null. */
export function findRunningSystem(dataDir: string): RunningSystem | null {
  const file = join(dataDir, RUNNING_FILE);
  const text = textOf(file);
  if (text === null) return null;
  const { postgres, redisUrl } = parse(text, file);
  if (postgres === null || !isAlive(postgres.pid)) return null;
  return { databaseUrl: postgres.url, redisUrl: redisUrl ?? undefined };
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return null; // never started, or started by another user
    throw error;
  }
}

function parse(text: string, file: string): LocalServers {
  try {
    return localServers.parse(JSON.parse(text));
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
