import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A second clock for processes that are started with its environment. */
export interface SteppedClock {
  readonly environment: Readonly<Record<string, string>>;
  /** Its distance from the machine's clock. */
  readonly offMs: number;
  /** Steps it for all its processes at once. */
  set(offMs: number): void;
  remove(): void;
}

/** The reason why processes of this machine cannot have another clock, or null. */
export function lacksFaketime(): string | null {
  return faketimeLibrary() === null ? 'faketime (libfaketime) is not on PATH' : null;
}

/** The environment of a process with a clock that is off by `offset` (`+1h`), and a right monotonic clock. */
export function clockOff(offset: string): Record<string, string> {
  return { ...preloaded(), FAKETIME: offset };
}

/** A clock that is right until it is set. Its processes read the offset from a file each time. */
export function createSteppedClock(): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-clock-'));
  chmodSync(folder, 0o755); // as root, Postgres runs as another user
  const file = join(folder, 'offset');
  let offMs = 0;
  function write(): void {
    const fresh = `${file}.new`;
    writeFileSync(fresh, `${offMs < 0 ? '-' : '+'}${Math.abs(offMs) / 1000}\n`, { mode: 0o644 });
    renameSync(fresh, file); // no process reads a half-written file
  }
  write();
  return {
    environment: { ...preloaded(), FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', NO_FAKE_STAT: '1' },
    get offMs() {
      return offMs;
    },
    set(wantedMs) {
      offMs = wantedMs;
      write();
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function preloaded(): Record<string, string> {
  const library = faketimeLibrary();
  if (library === null) throw new Error('faketime (libfaketime) is not on PATH');
  return { LD_PRELOAD: library, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** Null: there is no such tool. */
function faketimeLibrary(): string | null {
  let environment: string;
  try {
    environment = execFileSync('faketime', ['-f', '+0', 'env'], { encoding: 'utf8' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const library = /^LD_PRELOAD=(.*)$/m.exec(environment)?.[1];
  if (library === undefined) throw new Error('faketime names no library to preload');
  return library;
}
