import { z } from 'zod';

/**
 * A list in a send request. Null counts as an empty list. Entries beyond `max` are not validated:
 * `parseEmailDraft` reports a list that is too long.
 */
export function limitedList<Entry extends z.ZodType>(max: number, entry: Entry, error: string) {
  // `.max` is for the OpenAPI document: the list is cut before it is checked.
  const list = z.array(entry, { error }).max(max);
  return z
    .preprocess((value) => (Array.isArray(value) ? (value.slice(0, max) as unknown[]) : (value ?? [])), list)
    .meta({ type: ['array', 'null'] });
}
