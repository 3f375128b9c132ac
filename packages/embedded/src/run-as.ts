import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { readOrNull, statOrNull } from './files.ts';

/** The user that runs a server. */
export interface RunAs {
  uid: number;
  gid: number;
}

const NOBODY: RunAs = { uid: 65_534, gid: 65_534 };

/**
 * Chooses the user that runs Postgres, because Postgres refuses to run as root. Root uses the owner of an
 * existing data directory, or an unprivileged user. Any other user runs Postgres itself: undefined.
 */
export function runAsFor(dataDir: string): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const existing = statOrNull(dataDir);
  if (existing !== null && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  return unprivilegedUser(readOrNull('/etc/passwd') ?? '');
}

/** Checks that `user` can enter every existing folder above `path`. */
export function canReach(path: string, user: RunAs): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const stats = statOrNull(folder);
    if (stats !== null && !canEnter(stats, user)) return false;
    if (folder === dirname(folder)) return true;
  }
}

function canEnter(stats: Stats, user: RunAs): boolean {
  if (stats.uid === user.uid) return (stats.mode & 0o100) !== 0;
  if (stats.gid === user.gid) return (stats.mode & 0o010) !== 0;
  return (stats.mode & 0o001) !== 0;
}

/**
 * Chooses `nobody`, or `daemon` on macOS, where `nobody` has the number -2. initdb needs an entry for its
 * user.
 *
 * @param passwd the text of /etc/passwd
 */
export function unprivilegedUser(passwd: string): RunAs {
  const entryOf = (name: string) => new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(passwd);
  const entry = entryOf('nobody') ?? entryOf('daemon');
  return entry === null ? NOBODY : { uid: Number(entry[1]), gid: Number(entry[2]) };
}
