import type { Writable } from 'node:stream';
import winston from 'winston';
import { type Clock, systemClock } from '../clock.ts';
import type { LogFields, Logger, LogLevel } from './logger.ts';
import { maskSecrets, redact } from './redact.ts';

// winston's transports write what they find under this key (triple-beam, which winston shares with its formats).
const MESSAGE = Symbol.for('message');

const LEVELS: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };
const NOTHING = -1;

export interface LoggerOptions {
  /** The least important level that is written; `silent` writes nothing. */
  level: LogLevel | 'silent';
  /** Written on every line: `api`, `relay`, `worker`, … */
  service: string;
  /** stdout, unless that belongs to the program's answers (cli). */
  stream?: Writable;
  clock?: Clock;
}

/**
 * A logger that writes one JSON object a line: `time` (ISO 8601, ms, UTC), `level`, `msg`, `service`, then the fields.
 * Fields with a secret's name or looks are redacted at any depth. Importing this opens nothing; creating it does.
 */
export function createLogger({ level, service, stream, clock = systemClock }: LoggerOptions): Logger {
  const output = stream ?? process.stdout;
  toleratesClosedReader(output);
  const sink = winston.createLogger({
    levels: LEVELS,
    level: 'debug',
    // Here and not on the transport: a logger without a format of its own writes JSON of its own first.
    format: renderedLine(clock, service),
    transports: [
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston's own types disagree
      new winston.transports.Stream({ stream: output, eol: '\n' }),
    ],
  });
  return new LeveledLogger(sink, level === 'silent' ? NOTHING : LEVELS[level], {});
}

/** Levels are compared before anything is built: a line that is not written costs nothing. */
class LeveledLogger implements Logger {
  readonly #sink: winston.Logger;
  readonly #threshold: number;
  readonly #bindings: LogFields;

  constructor(sink: winston.Logger, threshold: number, bindings: LogFields) {
    this.#sink = sink;
    this.#threshold = threshold;
    this.#bindings = bindings;
  }

  debug(msg: string, fields?: LogFields): void {
    this.#write('debug', msg, fields);
  }

  info(msg: string, fields?: LogFields): void {
    this.#write('info', msg, fields);
  }

  warn(msg: string, fields?: LogFields): void {
    this.#write('warn', msg, fields);
  }

  error(msg: string, fields?: LogFields): void {
    this.#write('error', msg, fields);
  }

  child(fields: LogFields): Logger {
    return new LeveledLogger(this.#sink, this.#threshold, addFields({ ...this.#bindings }, fields));
  }

  #write(level: LogLevel, msg: string, fields: LogFields | undefined): void {
    if (LEVELS[level] > this.#threshold) return;
    const parts: LineParts = { level, message: msg, bindings: this.#bindings, fields };
    this.#sink.log(parts);
  }
}

/** What goes through winston: `bindings` are redacted already, `fields` are not. */
interface LineParts {
  level: LogLevel;
  message: string;
  bindings: LogFields;
  fields: LogFields | undefined;
}

const OWN_NAMES = new Set(['time', 'level', 'msg', 'service']);

/** The line's own names are not for fields: those move aside, so that neither is lost. */
function addFields(line: Record<string, unknown>, fields: LogFields): Record<string, unknown> {
  for (const name of Object.keys(fields)) {
    line[OWN_NAMES.has(name) ? `field_${name}` : name] = redact(name, fields[name]);
  }
  return line;
}

/** One object from the first name to the last: a line costs about 6 µs, a third of it the write. */
function renderedLine(clock: Clock, service: string): winston.Logform.Format {
  return winston.format((info) => {
    const { level, message, bindings, fields } = info as unknown as LineParts;
    const line: Record<string, unknown> = {
      time: clock.now().toISOString(),
      level,
      msg: maskSecrets(message),
      service,
    };
    Object.assign(line, bindings);
    info[MESSAGE] = JSON.stringify(fields === undefined ? line : addFields(line, fields));
    return info;
  })();
}

const tolerant = new WeakSet<Writable>();

/** Whoever read our lines may go away; that ends the log, not the process. Any other fault is thrown as usual. */
function toleratesClosedReader(stream: Writable): void {
  if (tolerant.has(stream)) return;
  tolerant.add(stream);
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
