import { EVENT_TYPES, isEventType, LIMITS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from './whole-number.ts';

/** Options of the commands that send many events again. */
export const recoveryOptions = {
  types: () =>
    new Option('--types <list>', 'only events of these types, separated by commas').argParser(parseTypes),
  /** @param absent says what holds without the option. */
  rate: (absent: string) =>
    new Option('--rate <number>', `events a second at most; ${absent}`).argParser(parseRate),
  dryRun: () => new Option('--dry-run', 'count, and send nothing'),
  stop: () => new Option('--stop', 'stop what runs; what is queued is still sent'),
};

function parseTypes(text: string): EventType[] {
  const types = [...new Set(text.split(',').map((type) => type.trim()))];
  const unknown = types.filter((type) => !isEventType(type));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. Types are ${EVENT_TYPES.join(', ')}.`);
  return types.filter(isEventType);
}

function parseRate(text: string): number {
  return wholeNumber(text, { min: 1, max: LIMITS.recoveryRateMax, what: 'rate' });
}
