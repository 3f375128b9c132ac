import { readFileSync } from 'node:fs';
import { nodeProcess } from '@postrider/runtime';
import type { ProcessControl } from '@postrider/runtime';

const WATCH_INTERVAL_MS = 500;
/** Between npm and this process there may be a shell, and an older Node (`scripts/bootstrap.mjs`). */
const ANCESTORS_MAX = 3;

/**
 * Controls this process. A closed terminal or the end of the parent npm stops it like SIGTERM. A `kill` of
 * npm ends only npm, so this process watches whether npm still runs.
 *
 * @param underNpm npm started this process.
 */
export function launcherControl(underNpm: boolean): ProcessControl {
  const control = nodeProcess();
  const stop = (): void => void process.emit('SIGTERM', 'SIGTERM');
  return {
    ...control,
    onSignal(listener) {
      control.onSignal(listener);
      process.on('SIGHUP', stop);
      if (underNpm) onNpmGone(stop);
    },
    exit(code) {
      // 128 + the number of a second signal, which ends this process without stopping the others
      if (code > 128) {
        control.complain(
          'postrider: ended at once; processes that it started may still run, and the next npm start takes them over',
        );
      }
      control.exit(code);
    },
  };
}

function onNpmGone(listener: () => void): void {
  const above = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === above) return;
    clearInterval(timer);
    listener();
  }, WATCH_INTERVAL_MS);
  timer.unref();
}

/** The process numbers of our ancestors up to npm, or of the nearest two when none is called npm. */
function ancestors(): string {
  if (process.platform !== 'linux') return String(process.ppid);
  const pids: number[] = [];
  for (let pid = process.ppid; pid > 0 && pids.length < ANCESTORS_MAX;) {
    pids.push(pid);
    const { name, parent } = readProcess(pid);
    if (name.startsWith('npm')) return pids.join(' ');
    pid = parent;
  }
  return pids.slice(0, 2).join(' ');
}

function readProcess(pid: number): { name: string; parent: number } {
  try {
    // "pid (name) state ppid …" of proc(5)
    const [, name = '', parent] =
      /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { name, parent: Number(parent) };
  } catch {
    return { name: '', parent: 0 }; // it has just ended
  }
}
