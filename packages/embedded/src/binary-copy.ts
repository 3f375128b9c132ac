import { createHash } from 'node:crypto';
import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Copies a tree of binaries that lies under a closed folder (root's home, mode 0700) to where every user can read it,
 * and returns the copy's folder. A complete copy is used again: 60 MB take about 250 ms.
 */
export function copyForOthers(native: string): string {
  const key = createHash('sha256').update(native).digest('hex').slice(0, 12);
  const copy = join(openTemporaryFolder(), `postrider-postgres-${key}`);
  if (isWhole(native, copy)) return copy;
  const fresh = mkdtempSync(`${copy}-`);
  const tree = join(fresh, 'native');
  cpSync(native, tree, { recursive: true, verbatimSymlinks: true });
  openToAll(tree);
  // Whatever has the name is incomplete, or not ours: never run it.
  rmSync(copy, { recursive: true, force: true });
  try {
    renameSync(tree, copy);
  } catch (error) {
    // Another start was quicker by a moment.
    if (!isWhole(native, copy)) throw error;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return copy;
}

/** Cleaners of /tmp remove single old files, so a copy counts only when every file is there and ours. */
function isWhole(source: string, copy: string): boolean {
  const wanted = lstatSync(source);
  const found = lstatSync(copy, { throwIfNoEntry: false });
  if (found === undefined || found.uid !== process.getuid?.()) return false;
  if (wanted.isDirectory()) {
    if (!found.isDirectory() || (found.mode & 0o022) !== 0) return false;
    return readdirSync(source).every((name) => isWhole(join(source, name), join(copy, name)));
  }
  return wanted.isSymbolicLink() ? found.isSymbolicLink() : found.isFile() && found.size === wanted.size;
}

function openToAll(path: string): void {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return;
  const executable = stats.isDirectory() || (stats.mode & 0o100) !== 0;
  chmodSync(path, executable ? 0o755 : 0o644);
  if (stats.isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name));
}

/** TMPDIR may itself point into a closed home. */
function openTemporaryFolder(): string {
  const isOpen = (folder: string): boolean => {
    for (let at = folder; ; at = dirname(at)) {
      const stats = lstatSync(at, { throwIfNoEntry: false });
      if (stats === undefined || (stats.mode & 0o001) === 0) return false;
      if (at === dirname(at)) return true;
    }
  };
  return [tmpdir(), '/var/tmp', '/tmp'].find(isOpen) ?? tmpdir();
}
