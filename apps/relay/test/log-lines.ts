import type { Logger, LogFields, LogLevel } from '@postrider/runtime';

export interface LoggedLine {
  readonly level: LogLevel;
  readonly msg: string;
  readonly fields: LogFields;
}

/** A logger that keeps its lines. */
export function keepingLogger(lines: LoggedLine[]): Logger {
  const keep =
    (level: LogLevel) =>
    (msg: string, fields: LogFields = {}): void =>
      void lines.push({ level, msg, fields });
  return {
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  };
}
