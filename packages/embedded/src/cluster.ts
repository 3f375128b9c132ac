import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { giveTo, type Placement } from './placement.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';

/** The one role of a cluster of ours: owner and superuser. */
export const ROLE = 'app';

/** Nothing of our environment: PGDATA, PGPORT or a closed HOME would change what the server does. */
export const SERVER_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** The major version that made the data directory, or null when there is none yet. */
export function clusterVersion(dataDir: string): number | null {
  const file = join(dataDir, 'PG_VERSION');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : null;
}

/** The password of an existing cluster: its file is the truth, whatever the caller asks for. */
export function readPassword(place: Placement): string {
  if (!existsSync(place.passwordFile)) {
    throw new Error(`${place.dataDir} has lost ${place.passwordFile}; restore that file, or remove both`);
  }
  return readFileSync(place.passwordFile, 'utf8').trim();
}

/**
 * Makes a new cluster: UTF-8, C collation (the same on every system), SCRAM passwords. It grows under another name
 * and is renamed at the end, so an interrupted start leaves nothing that looks like a cluster.
 */
export async function createCluster(
  place: Placement,
  binaries: PostgresBinaries,
  password = randomBytes(24).toString('hex'),
): Promise<void> {
  const draft = `${place.dataDir}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  giveTo(draft, place.runAs);
  rmSync(place.passwordFile, { force: true });
  writeFileSync(place.passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
  giveTo(place.passwordFile, place.runAs);
  const flags = ['-D', draft, '-U', ROLE, '--auth=scram-sha-256', `--pwfile=${place.passwordFile}`];
  try {
    await promisify(execFile)(binaries.initdb, [...flags, '-E', 'UTF8', '--locale=C', '--no-sync'], {
      ...place.runAs,
      cwd: '/', // ours may be closed to that user
      env: SERVER_ENVIRONMENT,
    });
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`initdb could not make ${place.dataDir}: ${said}`, { cause: error });
  }
  rmSync(place.dataDir, { recursive: true, force: true }); // empty, or the remains of an interrupted initdb
  renameSync(draft, place.dataDir);
}
