import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of a few megabytes that can be filled to the last byte. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all free bytes. @returns their number */
  fill(): number;
  /** Frees the bytes of `fill`. */
  free(): void;
  unmount(): Promise<void>;
}

const BLOCK = Buffer.alloc(64 * 1024);
const PAGE_BYTES = 4_096;

/** The reason why this machine cannot have a small disk, or null. */
export function lacksSmallDisk(): string | null {
  if (process.platform !== 'linux') return 'there is no tmpfs to mount: this is not Linux';
  if (process.getuid?.() !== 0) return 'only root may mount a small disk';
  const folder = mkdtempSync(join(tmpdir(), 'postrider-mount-'));
  try {
    mount(folder, 1);
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return null;
  } catch (error) {
    return `a small disk cannot be mounted: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    rmdirSync(folder);
  }
}

/** Mounts it. It is unmounted when this process ends, even by SIGKILL. */
export function mountSmallDisk(mib: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-disk-'));
  chmodSync(folder, 0o755);
  mount(folder, mib);
  // Reads until this process ends: the kernel closes the input even after SIGKILL. It unmounts lazily,
  // because another process may have a file open there for a moment.
  const guard = spawn('/bin/sh', ['-c', 'cat > /dev/null; umount -l "$1" && rmdir "$1"', 'guard', folder], {
    detached: true, // Ctrl-C goes to the whole process group
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => fillWith(ballast),
    free: () => rmSync(ballast, { force: true }),
    async unmount() {
      guard.ref();
      guard.stdin.end();
      if (guard.exitCode === null) await once(guard, 'exit');
      if (guard.exitCode !== 0) throw new Error(`${folder} could not be unmounted`);
    },
  };
}

function mount(folder: string, mib: number): void {
  const options = `size=${mib}m,mode=0755,nosuid,nodev`;
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'postrider-torture', folder], { stdio: 'ignore' });
}

/** Appends until the disk is full: whole blocks, then pages. */
function fillWith(file: string): number {
  const descriptor = openSync(file, 'a');
  try {
    return writeUntilFull(descriptor, BLOCK) + writeUntilFull(descriptor, BLOCK.subarray(0, PAGE_BYTES));
  } finally {
    closeSync(descriptor);
  }
}

function writeUntilFull(descriptor: number, block: Buffer): number {
  for (let written = 0; ;) {
    try {
      written += writeSync(descriptor, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return written;
      throw error;
    }
  }
}
