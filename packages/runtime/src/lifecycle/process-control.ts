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

/**
 * Signals within this time count as one. One Ctrl-C sends two signals, one from the terminal and one from
 * npm. A stop by systemd also sends two.
 */
export const SAME_STOP_MS = 1_000;

/**
 * Makes a listener that leaves out the second signal of one Ctrl-C. It passes the first signal to `listener`,
 * and then at most one a second.
 */
export function ignoringRepeats<Heard extends unknown[]>(
  listener: (...heard: Heard) => void,
  now: () => number = () => performance.now(),
): (...heard: Heard) => void {
  let lastMs = -Infinity;
  return (...heard) => {
    const nowMs = now();
    if (nowMs - lastMs <= SAME_STOP_MS) return;
    lastMs = nowMs;
    listener(...heard);
  };
}

/** This process. @param now a monotonic clock, in milliseconds */
export function nodeProcess(now?: () => number): ProcessControl {
  return {
    onSignal: (listener) => {
      const stop = ignoringRepeats(listener, now);
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
