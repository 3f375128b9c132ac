export type StopSignal = 'SIGTERM' | 'SIGINT';

/** The operations on the process that `Lifecycle` needs. */
export interface ProcessControl {
  /** The listener gets the first signal, and then at most one a second. */
  onSignal(listener: (signal: StopSignal) => void): void;
  /** An uncaught exception or an unhandled rejection. */
  onFatal(listener: (error: unknown) => void): void;
  /** Writes one line for the operator to stderr. */
  complain(line: string): void;
  exit(code: number): void;
}

/** One Ctrl-C sends two signals: the terminal sends one, npm the other. A stop by systemd does the same. */
const SAME_STOP_MS = 1_000;

/** This process. @param now a monotonic clock, in milliseconds */
export function nodeProcess(now: () => number = () => performance.now()): ProcessControl {
  return {
    onSignal: (listener) => {
      let lastMs = -Infinity;
      const stop = (signal: StopSignal): void => {
        const nowMs = now();
        if (nowMs - lastMs <= SAME_STOP_MS) return;
        lastMs = nowMs;
        listener(signal);
      };
      process.on('SIGTERM', () => stop('SIGTERM'));
      process.on('SIGINT', () => stop('SIGINT'));
    },
    onFatal: (listener) => {
      // Node turns an unhandled rejection into an uncaught exception.
      process.on('uncaughtException', listener);
    },
    complain: (line) => {
      process.stderr.write(`${line}\n`);
    },
    exit: (code) => process.exit(code),
  };
}
