import { createHash } from 'node:crypto';
import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Copies binaries from a closed folder, such as root's home (mode 0700), to a folder that every user can
 * read. Returns that folder. Reuses a complete copy: to copy 60 MB takes about 250 ms.
 */
export function copyForOthers(native: string): string {
  const key = createHash('sha256').update(native).digest('hex').slice(0, 12);
  const copy = join(publicTemporaryFolder(), `postrider-postgres-${key}`);
  if (isWhole(native, copy)) return copy;
  const fresh = mkdtempSync(`${copy}-`);
  const tree = join(fresh, 'native');
  cpSync(native, tree, { recursive: true, verbatimSymlinks: true });
  openToAll(tree);
  // The existing folder is incomplete, or another user made it: never run its files.
  rmSync(copy, { recursive: true, force: true });
  try {
    renameSync(tree, copy);
  } catch (error) {
    // Another start may have put its own copy there first. That copy is good, too.
    if (!isWhole(native, copy)) throw error;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return copy;
}

/**
 * A copy is complete when every file exists and is ours, and only we can write to its folders. Programs that
 * clean /tmp remove single old files.
 */
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

/** A temporary folder that every user can enter. TMPDIR may point into a closed home. */
function publicTemporaryFolder(): string {
  const isOpen = (folder: string): boolean => {
    for (let at = folder; ; at = dirname(at)) {
      const stats = lstatSync(at, { throwIfNoEntry: false });
      if (stats === undefined || (stats.mode & 0o001) === 0) return false;
      if (at === dirname(at)) return true;
    }
  };
  return [tmpdir(), '/var/tmp', '/tmp'].find(isOpen) ?? tmpdir();
}
