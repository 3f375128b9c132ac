import { readFileSync } from 'node:fs';
import type { ProcessControl, StopSignal } from '@postrider/runtime';

const WATCH_INTERVAL_MS = 500;
/** One Ctrl-C comes more than once: from the terminal, and again from npm. A later one is a second wish. */
const SAME_WISH_MS = 1_000;

/**
 * This process. A closed terminal stops it as SIGTERM does, and so does the end of the npm that started it: a signal
 * sent to npm by its number ends npm alone.
 *
 * @param underNpm npm is our parent.
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

/** Who is above us, npm included: between it and us may stand the shell that it runs scripts with. */
function ancestors(): string {
  const { ppid } = process;
  if (process.platform !== 'linux') return String(ppid);
  try {
    // "pid (name) state ppid …" of proc(5)
    const [, name = '', grandparent = ''] =
      /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${ppid}/stat`, 'utf8')) ?? [];
    return /^(npm|node)/.test(name) ? String(ppid) : `${ppid} ${grandparent}`;
  } catch {
    return ''; // it ends at this moment, which is a change as well
  }
}
