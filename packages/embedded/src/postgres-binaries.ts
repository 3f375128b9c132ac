import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { copyForOthers } from './binary-copy.ts';
import { foldersOnPath } from './files.ts';
import { findNativePostgres, nativePackageName } from './native-package.ts';
import type { RunAs } from './run-as.ts';

/** This machine cannot run a private Postgres. The message ends with a remedy, without a full stop. */
export class NoPrivatePostgresError extends Error {}

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  /** The major version, such as 18. */
  major: number;
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/**
 * Finds a Postgres that `runAs` can execute. Tries npm's binaries for this platform, then PATH, then Debian's
 * folder (newest first). `major` allows only that version, which an existing data directory needs. Undefined
 * `runAs` means the current user.
 * @throws NoPrivatePostgresError, which names all attempts
 */
export function findPostgresBinaries(runAs: RunAs | undefined, major: number | null): PostgresBinaries {
  const tried: string[] = [];
  for (const supply of supplies(runAs)) {
    const found = supply.folder === null ? `${supply.name}: not there` : probe(supply.folder, runAs);
    if (typeof found !== 'string' && (major === null || found.major === major)) return found;
    tried.push(typeof found === 'string' ? found : `${found.postgres}: version ${found.major}`);
  }
  const name = major === null ? 'Postgres' : `Postgres ${major}`;
  const reason = major === null ? '' : ', which made the data directory';
  throw new NoPrivatePostgresError(`No usable ${name}${reason}. Tried: ${tried.join('; ')}. Install ${name}`);
}

interface Supply {
  name: string;
  /** Null: not installed. */
  folder: string | null;
}

function* supplies(runAs: RunAs | undefined): Generator<Supply> {
  const native = findNativePostgres();
  yield { name: `npm package ${nativePackageName()}`, folder: native === null ? null : join(native, 'bin') };
  // `runAs` is not the current user, so the folder of the npm package may be closed to it.
  if (native !== null && runAs !== undefined) {
    yield { name: 'a copy of it', folder: join(copyForOthers(native), 'bin') };
  }
  yield { name: 'initdb and postgres on PATH', folder: foldersOnPath().find(hasBoth) ?? null };
  const debian = debianFolders();
  if (debian.length === 0) yield { name: `${DEBIAN_FOLDER}/*/bin`, folder: null };
  for (const folder of debian) yield { name: folder, folder };
}

/** Returns the binaries in `folder` if `runAs` can run them, or a sentence with the reason. */
function probe(folder: string, runAs: RunAs | undefined): PostgresBinaries | string {
  const initdb = join(folder, 'initdb');
  const postgres = join(folder, 'postgres');
  const run = spawnSync(postgres, ['--version'], { ...runAs, cwd: '/', encoding: 'utf8', timeout: 10_000 });
  if (run.error !== undefined) return `${postgres}: ${run.error.message}`;
  const version = /PostgreSQL\) (\d+)/.exec(run.stdout);
  if (version === null) return `${postgres}: ${run.stderr.trim() || `exit code ${String(run.status)}`}`;
  return { initdb, postgres, major: Number(version[1]) };
}

function debianFolders(): string[] {
  if (!existsSync(DEBIAN_FOLDER)) return [];
  return readdirSync(DEBIAN_FOLDER)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
    .filter(hasBoth);
}

function hasBoth(folder: string): boolean {
  return existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'));
}
