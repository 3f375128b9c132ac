import type { ProcessControl } from '@postrider/runtime';

const WATCH_INTERVAL_MS = 500;

/**
 * This process. A closed terminal stops it as SIGTERM does, and so does the end of the npm that started it: a signal
 * sent to npm by its number ends npm alone.
 *
 * @param underNpm npm is our parent.
 */
export function launcherControl(underNpm: boolean): ProcessControl {
  return {
    onSignal(listener) {
      process.on('SIGINT', () => listener('SIGINT'));
      process.on('SIGTERM', () => listener('SIGTERM'));
      process.on('SIGHUP', () => listener('SIGTERM'));
      if (underNpm) onParentGone(() => listener('SIGTERM'));
    },
    onFatal(listener) {
      process.on('uncaughtException', listener);
      process.on('unhandledRejection', listener);
    },
    complain: (line) => void process.stderr.write(`${line}\n`),
    exit: (code) => process.exit(code),
  };
}

function onParentGone(listener: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    listener();
  }, WATCH_INTERVAL_MS);
  timer.unref();
}
