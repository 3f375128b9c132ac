import { z } from 'zod';

/**
 * A list in a send request. Null counts as an empty list. Entries beyond the limit are not validated: the
 * length of the list is a separate fault.
 */
export function limitedList<Entry extends z.ZodType>(max: number, entry: Entry, error: string) {
  const list = z.array(entry, { error }).max(max);
  return z
    .preprocess((value) => (Array.isArray(value) ? (value.slice(0, max) as unknown[]) : (value ?? [])), list)
    .meta({ type: ['array', 'null'] });
}
