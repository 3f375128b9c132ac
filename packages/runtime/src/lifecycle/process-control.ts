export type StopSignal = 'SIGTERM' | 'SIGINT';

/** What the lifecycle needs of the process it ends; tests pass another one. */
export interface ProcessControl {
  onSignal(listener: (signal: StopSignal) => void): void;
  /** An exception that nobody caught, or a rejection that nobody handled. */
  onFatal(listener: (error: unknown) => void): void;
  /** Writes one line for the operator to stderr. */
  complain(line: string): void;
  exit(code: number): void;
}

/** The process itself. */
export const nodeProcess: ProcessControl = {
  onSignal: (listener) => {
    process.on('SIGTERM', () => listener('SIGTERM'));
    process.on('SIGINT', () => listener('SIGINT'));
  },
  onFatal: (listener) => {
    // Node raises a rejection that nobody handled as an uncaught exception.
    process.on('uncaughtException', listener);
  },
  complain: (line) => {
    process.stderr.write(`${line}\n`);
  },
  exit: (code) => process.exit(code),
};
