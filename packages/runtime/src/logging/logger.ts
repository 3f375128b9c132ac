export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** What a line says beside its message. Names are snake_case; an `Error` anywhere inside is written with its stack. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What the code that logs needs to know of a logger. */
export interface Logger {
  debug(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  error(msg: string, fields?: LogFields): void;
  /** A logger whose every line carries `fields` as well. */
  child(fields: LogFields): Logger;
}
