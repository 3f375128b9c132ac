import type { Writable } from 'node:stream';
import type { Clock } from '@postrider/domain';
import winston from 'winston';
import { systemClock } from '../clock.ts';
import type { LogFields, Logger, LogLevel } from './logger.ts';
import { maskSecrets, redact } from './redact.ts';

// winston's transports write the value under this key (the package triple-beam defines it).
const MESSAGE = Symbol.for('message');

const LEVELS: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };
const NOTHING = -1;

export interface LoggerOptions {
  /** The least important level to write. `silent` writes nothing. */
  level: LogLevel | 'silent';
  /** A field of every line: `api`, `relay`, `worker`, … */
  service: string;
  /** Default: stdout. The CLI uses stderr, because its answers go to stdout. */
  stream?: Writable;
  clock?: Clock;
}

/**
 * A logger that writes one JSON object per line: `time` (ISO 8601, ms, UTC), `level`, `msg`, `service`, then
 * the fields. It redacts fields that have the name or the form of a secret, at any depth.
 */
export function createLogger({ level, service, stream, clock = systemClock }: LoggerOptions): Logger {
  const output = stream ?? process.stdout;
  ignoreErrorsOf(output);
  const sink = winston.createLogger({
    levels: LEVELS,
    level: 'debug',
    // Not on the transport: a logger without a format first builds its own JSON.
    format: renderedLine(clock, service),
    transports: [
      new winston.transports.Stream({
        stream: output,
        // The transport's own `log` takes a turn of the event loop per line, for an event without listeners.
        log(info: Record<symbol, unknown>, done) {
          output.write(`${String(info[MESSAGE])}\n`);
          done();
        },
      }),
    ],
  });
  return new LeveledLogger(sink, level === 'silent' ? NOTHING : LEVELS[level]);
}

/** Compares levels before it builds anything, so that a suppressed line costs nothing. */
class LeveledLogger implements Logger {
  readonly #sink: winston.Logger;
  readonly #threshold: number;

  constructor(sink: winston.Logger, threshold: number) {
    this.#sink = sink;
    this.#threshold = threshold;
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

  #write(level: LogLevel, msg: string, fields: LogFields | undefined): void {
    if (LEVELS[level] > this.#threshold) return;
    const parts: LineParts = { level, message: msg, fields };
    this.#sink.log(parts);
  }
}

/** The object that goes through winston. Its fields are not redacted yet. */
interface LineParts {
  level: LogLevel;
  message: string;
  fields: LogFields | undefined;
}

const OWN_NAMES = new Set(['time', 'level', 'msg', 'service']);

/** A field with one of the line's own names gets the prefix `field_`, so that both values are written. */
function addFields(line: Record<string, unknown>, fields: LogFields): void {
  for (const name of Object.keys(fields)) {
    line[OWN_NAMES.has(name) ? `field_${name}` : name] = redact(name, fields[name]);
  }
}

/** A line costs about 6 µs. The write is a third. */
function renderedLine(clock: Clock, service: string): winston.Logform.Format {
  return winston.format((info) => {
    const { level, message, fields } = info as unknown as LineParts;
    const line: Record<string, unknown> = {
      time: clock.now().toISOString(),
      level,
      msg: maskSecrets(message),
      service,
    };
    if (fields !== undefined) addFields(line, fields);
    info[MESSAGE] = inOneLine(JSON.stringify(line));
    return info;
  })();
}

/** JSON leaves U+2028 and U+2029 as they are. Node's readline ends a line at each. This costs under 1 µs. */
function inOneLine(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

const withListener = new WeakSet<Writable>();

/**
 * A closed reader or a full disk loses lines. There is no place to report it, and deliveries go on. Without a
 * listener, the error would be an uncaught exception, which is logged, which fails again.
 */
function ignoreErrorsOf(stream: Writable): void {
  if (withListener.has(stream)) return;
  withListener.add(stream);
  stream.on('error', () => undefined);
}
