import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readOrNull } from './files.ts';
import { giveTo, type Placement } from './placement.ts';
import { NoPrivatePostgresError, type PostgresBinaries } from './postgres-binaries.ts';

/** The only role of an embedded cluster: its owner and superuser. */
export const ROLE = 'app';

/** Our own environment is left out: PGDATA, PGPORT or a closed HOME would change the server's behaviour. */
export const SERVER_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** The major version of the data directory, or null when it does not exist. */
export function clusterVersion(dataDir: string): number | null {
  const version = readOrNull(join(dataDir, 'PG_VERSION'));
  return version === null ? null : Number(version);
}

/** Reads the password of an existing cluster. The caller's password is for a new cluster only. */
export function readPassword(place: Placement): string {
  const password = readOrNull(place.passwordFile);
  if (password !== null) return password.trim();
  throw new Error(`${place.dataDir} has lost ${place.passwordFile}; restore that file, or remove both`);
}

/**
 * Makes a new cluster: UTF-8, C collation (the same on every system), SCRAM passwords. Builds it under
 * another name and renames it at the end, so an interrupted start leaves no half-made cluster.
 * @throws Error when the folder has files that are no cluster: they are not ours
 */
export async function createCluster(
  place: Placement,
  binaries: PostgresBinaries,
  password = randomBytes(24).toString('hex'),
): Promise<void> {
  if (existsSync(place.dataDir) && readdirSync(place.dataDir).length > 0) {
    throw new Error(
      `${place.dataDir} has files and no Postgres cluster; empty it, or set POSTRIDER_DATA_DIR to another folder`,
    );
  }
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
      cwd: '/', // the user of the server may not be able to enter our folder
      env: SERVER_ENVIRONMENT,
    });
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    const unknownUser = /could not look up effective user ID (\d+)/.exec(said);
    if (unknownUser === null)
      throw new Error(`initdb could not make ${place.dataDir}: ${said}`, { cause: error });
    const fault = `initdb needs an entry in /etc/passwd for the user ${unknownUser[1]}`;
    throw new NoPrivatePostgresError(`${fault}; add one`, { cause: error });
  }
  renameSync(draft, place.dataDir); // replaces an empty folder only
}
