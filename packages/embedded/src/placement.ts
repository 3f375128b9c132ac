import { createHash } from 'node:crypto';
import { accessSync, chmodSync, chownSync, constants, lstatSync, mkdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { canReach, runAsFor, statOrNull, type RunAs } from './run-as.ts';

/** Where one cluster keeps everything, and who runs it. */
export interface Placement {
  dataDir: string;
  passwordFile: string;
  logFile: string;
  lockFile: string;
  /** The folder made for a cluster that could not stay where it was asked for, or null. */
  ownFolder: string | null;
  /** Undefined: the server runs as ourselves. */
  runAs: RunAs | undefined;
}

/**
 * The requested directory where the server's user can reach it. Root's own home (mode 0700) cannot be reached by
 * `nobody`; the cluster then lives in a folder of its own that survives a reboot, named after the requested path so
 * that every start finds it again.
 */
export function placeCluster(requested: string): Placement {
  const wanted = resolve(requested);
  const runAs = runAsFor(wanted);
  const dataDir = runAs === undefined || canReach(wanted, runAs) ? wanted : reachableInstead(wanted, runAs);
  makeFolders(dirname(dataDir), runAs);
  return {
    dataDir,
    passwordFile: `${dataDir}.password`,
    logFile: `${dataDir}.log`,
    lockFile: `${dataDir}.lock`,
    ownFolder: dataDir === wanted ? null : dirname(dataDir),
    // A cluster that was placed elsewhere by an earlier start keeps its owner.
    runAs: runAs === undefined ? undefined : runAsFor(dataDir),
  };
}

/** Every path that a cluster leaves on disk. */
export function filesOf(place: Placement): string[] {
  const files = [place.dataDir, place.passwordFile, place.logFile, place.lockFile];
  return place.ownFolder === null ? files : [...files, place.ownFolder];
}

/** Makes `folder`; `mkdir -p -m 0700` would close the parents too, and the server's user could not pass. */
function makeFolders(folder: string, runAs: RunAs | undefined): void {
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined || runAs === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755);
}

export function giveTo(path: string, runAs: RunAs | undefined): void {
  if (runAs !== undefined) chownSync(path, runAs.uid, runAs.gid);
}

function reachableInstead(wanted: string, runAs: RunAs): string {
  const name = `postrider-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`;
  const candidates = ['/var/lib', '/var/tmp'].filter(
    (base) => isWritable(base) && canReach(join(base, name), runAs),
  );
  const used = candidates.find((base) => statOrNull(join(base, name)) !== null);
  const base = used ?? candidates[0];
  if (base === undefined) {
    throw new Error(
      `user ${runAs.uid} cannot reach ${wanted}, and neither /var/lib nor /var/tmp can hold the data instead; ` +
        'set DATABASE_URL to a Postgres of your own',
    );
  }
  const home = join(base, name);
  makeFolders(home, runAs);
  assertOurs(home);
  return join(home, basename(wanted));
}

/** /var/tmp is open to everyone: somebody else may have put a folder or a link there under our name. */
function assertOurs(folder: string): void {
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || stats.uid !== 0 || (stats.mode & 0o022) !== 0) {
    throw new Error(`${folder} does not belong to root alone; remove it, or set DATABASE_URL`);
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
