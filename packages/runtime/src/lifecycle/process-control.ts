export type StopSignal = 'SIGTERM' | 'SIGINT';

/** The operations on the process that `Lifecycle` needs. */
export interface ProcessControl {
  onSignal(listener: (signal: StopSignal) => void): void;
  /** An uncaught exception or an unhandled rejection. */
  onFatal(listener: (error: unknown) => void): void;
  /** Writes one line for the operator to stderr. */
  complain(line: string): void;
  exit(code: number): void;
}

/** This process. */
export const nodeProcess: ProcessControl = {
  onSignal: (listener) => {
    process.on('SIGTERM', () => listener('SIGTERM'));
    process.on('SIGINT', () => listener('SIGINT'));
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
