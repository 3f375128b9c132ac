import { readFileSync } from 'node:fs';
import type { ProcessControl, StopSignal } from '@postrider/runtime';

const WATCH_INTERVAL_MS = 500;
/**
 * One Ctrl-C sends two signals: the terminal sends one, npm the other. A signal after 1 s is a second Ctrl-C.
 */
const SAME_WISH_MS = 1_000;

/**
 * Controls this process. A closed terminal or the end of the parent npm stops it like SIGTERM. A `kill` of
 * npm ends only npm, so this process watches it.
 *
 * @param underNpm npm started this process.
 */
export function launcherControl(underNpm: boolean): ProcessControl {
  return {
    onSignal(listener) {
      let lastAtMs = -Infinity;
      const stop = (signal: StopSignal): void => {
        const now = performance.now();
        if (now - lastAtMs > SAME_WISH_MS) listener(signal);
        lastAtMs = now;
      };
      process.on('SIGINT', () => stop('SIGINT'));
      process.on('SIGTERM', () => stop('SIGTERM'));
      process.on('SIGHUP', () => stop('SIGTERM'));
      if (underNpm) onNpmGone(() => stop('SIGTERM'));
    },
    onFatal(listener) {
      process.on('uncaughtException', listener);
      process.on('unhandledRejection', listener);
    },
    complain: (line) => void process.stderr.write(`${line}\n`),
    exit: (code) => process.exit(code),
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

/** Our ancestors up to npm. npm may run its scripts in a shell, which is then our parent. */
function ancestors(): string {
  const { ppid } = process;
  if (process.platform !== 'linux') return String(ppid);
  try {
    // "pid (name) state ppid …" of proc(5)
    const [, name = '', grandparent = ''] =
      /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${ppid}/stat`, 'utf8')) ?? [];
    return /^(npm|node)/.test(name) ? String(ppid) : `${ppid} ${grandparent}`;
  } catch {
    return ''; // the parent has just ended, which also counts as a change
  }
}
