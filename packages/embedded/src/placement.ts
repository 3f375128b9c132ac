import { createHash } from 'node:crypto';
import { chmodSync, chownSync, constants, lstatSync, mkdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { canAccess, statOrNull } from './files.ts';
import { NoPrivatePostgresError } from './postgres-binaries.ts';
import { canReach, runAsFor, type RunAs } from './run-as.ts';

/** The paths of a cluster, and the user that runs it. */
export interface Placement {
  dataDir: string;
  passwordFile: string;
  logFile: string;
  lockFile: string;
  /** The folder made for a cluster that is not at the requested path, or null. */
  ownFolder: string | null;
  /** Undefined: the server runs as the user of this process. */
  runAs: RunAs | undefined;
}

/**
 * Chooses the data directory: the requested one if the server's user can reach it. Postgres refuses to run as
 * root, and `nobody` cannot reach root's home (mode 0700). Then the cluster gets another folder, which
 * survives a reboot. The folder's name has a hash of the requested path, so every start finds it again.
 */
export function placeCluster(requested: string): Placement {
  const wanted = resolve(requested);
  const runAs = runAsFor(wanted);
  const dataDir = runAs === undefined || canReach(wanted, runAs) ? wanted : fallbackFor(wanted, runAs);
  makeFolders(dirname(dataDir), runAs);
  return {
    dataDir,
    passwordFile: `${dataDir}.password`,
    logFile: `${dataDir}.log`,
    lockFile: `${dataDir}.lock`,
    ownFolder: dataDir === wanted ? null : dirname(dataDir),
    // A cluster that an earlier start placed elsewhere keeps its owner.
    runAs: runAs === undefined ? undefined : runAsFor(dataDir),
  };
}

/** All paths of a cluster on disk. */
export function filesOf(place: Placement): string[] {
  const files = [place.dataDir, place.passwordFile, place.logFile, place.lockFile];
  return place.ownFolder === null ? files : [...files, place.ownFolder];
}

/** Makes `folder` and its missing parents. A umask of 077 would close them for the server's user. */
function makeFolders(folder: string, runAs: RunAs | undefined): void {
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined || runAs === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755);
}

/** Makes `runAs` the owner of `path`. Undefined: the owner stays. */
export function giveTo(path: string, runAs: RunAs | undefined): void {
  if (runAs !== undefined) chownSync(path, runAs.uid, runAs.gid);
}

function fallbackFor(wanted: string, runAs: RunAs): string {
  const name = `postrider-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`;
  const candidates = ['/var/lib', '/var/tmp'].filter(
    (base) => canAccess(base, constants.W_OK) && canReach(join(base, name), runAs),
  );
  const used = candidates.find((base) => statOrNull(join(base, name)) !== null);
  const base = used ?? candidates[0];
  if (base === undefined) {
    throw new NoPrivatePostgresError(
      `user ${runAs.uid} cannot reach ${wanted}, and neither /var/lib nor /var/tmp can hold the data instead; open one`,
    );
  }
  const home = join(base, name);
  makeFolders(home, runAs);
  assertOurs(home);
  return join(home, basename(wanted));
}

/** Every user can write to /var/tmp. Another user may have made a folder or a link with our name. */
function assertOurs(folder: string): void {
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || stats.uid !== 0 || (stats.mode & 0o022) !== 0) {
    throw new NoPrivatePostgresError(`${folder} does not belong to root alone; remove it`);
  }
}
