export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** The fields of a line. Names are snake_case. An `Error` at any depth is written with its stack. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes lines to the log. */
export interface Logger {
  debug(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  error(msg: string, fields?: LogFields): void;
}
