import { WEBHOOK_EVENT_STATUSES } from '@postrider/store';
import { InvalidArgumentError, Option } from 'commander';
import { parseTime, typeOption } from './dead-letter-options.ts';

/** Options that select events. */
export const eventOptions = {
  type: typeOption,
  status: () =>
    new Option('--status <status>', 'only events with this status at a webhook').choices(
      WEBHOOK_EVENT_STATUSES,
    ),
  since: () =>
    new Option('--since <time>', 'only those recorded at this time (ISO 8601) or later').argParser(parseTime),
  until: () =>
    new Option('--until <time>', 'only those recorded before this time (ISO 8601)').argParser(parseTime),
  after: () =>
    new Option('--after <position>', 'only older ones; a note under the list has the position').argParser(
      parsePosition,
    ),
};

/** Parses `--after`. 18 digits fit into Postgres's `bigint`. */
function parsePosition(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError('A position is the number in the note under the list.');
}
