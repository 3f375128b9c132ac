import { DEAD_LETTER_REASONS, EVENT_TYPES, parseIsoTime } from '@postrider/domain';
import { InvalidArgumentError, Option } from 'commander';

export function typeOption(): Option {
  return new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES);
}

export function reasonOption(): Option {
  return new Option('--reason <reason>', 'only those of this reason').choices(DEAD_LETTER_REASONS);
}

/** Selects by the time when a dead letter was made, or an event recorded. */
export function sinceOption(happened: 'made' | 'recorded'): Option {
  const text = `only those ${happened} at this time (ISO 8601) or later`;
  return new Option('--since <time>', text).argParser(parseTime);
}

export function untilOption(happened: 'made' | 'recorded'): Option {
  return new Option('--until <time>', `only those ${happened} before this time (ISO 8601)`).argParser(
    parseTime,
  );
}

/** Reads an ISO 8601 time from the command line. */
export function parseTime(written: string): Date {
  const time = parseIsoTime(written);
  if (time === null) throw new InvalidArgumentError('It is not a time such as 2026-11-20T10:00:00Z.');
  return time;
}
