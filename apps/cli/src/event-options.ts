import { WEBHOOK_EVENT_STATUSES } from '@postrider/store';
import { InvalidArgumentError, Option } from 'commander';
import { sinceOption, typeOption, untilOption } from './dead-letter-options.ts';

/** Options that select events. */
export const eventOptions = {
  type: typeOption,
  status: () =>
    new Option('--status <status>', 'only events with this status at a webhook').choices(
      WEBHOOK_EVENT_STATUSES,
    ),
  since: () => sinceOption('recorded'),
  until: () => untilOption('recorded'),
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
