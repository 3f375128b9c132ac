import { DEAD_LETTER_REASONS, EVENT_TYPES } from '@postrider/domain';
import { Option } from 'commander';

/** Options that select dead letters. */
export function typeOption(): Option {
  return new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES);
}

export function reasonOption(): Option {
  return new Option('--reason <reason>', 'only those of this reason').choices(DEAD_LETTER_REASONS);
}
