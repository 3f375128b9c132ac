import {
  EVENT_TYPES,
  idPattern,
  isEventType,
  parsedBy,
  parseId,
  parseIsoMoment,
  parseIsoTime,
  PATTERNS,
} from '@postrider/domain';
import type { EventType, Id, Noun } from '@postrider/domain';
import { z } from 'zod';

/**
 * A field with a text that `parse` reads.
 *
 * @param fault ends the sentence about a text that `parse` cannot read: `is not an email address`.
 * @param meta describes the field in the OpenAPI document.
 */
export function parsedText<Value>(
  parse: (text: string) => Value | null,
  fault: string,
  meta: z.core.GlobalMeta = {},
) {
  return z.string({ error: 'is not a string' }).meta(meta).transform(parsedBy(parse, fault));
}

/** A field that holds a time. */
export const requestedTime = parsedText(parseIsoTime, 'is not a time such as 2026-11-20T10:00:00Z', {
  format: 'date-time',
});

/** A field that holds a time, or a date, which stands for its start in UTC. */
export const requestedMoment = parsedText(
  parseIsoMoment,
  'is neither a date nor a time such as 2026-11-20T10:00:00Z',
  {
    pattern: PATTERNS.isoMoment,
  },
);

export const requestedEventType = z
  .string({ error: 'is not a string' })
  .refine(isEventType, { error: 'is not a known event type' })
  .meta({ enum: EVENT_TYPES });

/** A list of event types. The validator keeps each type once, in the order given. An absent list is empty. */
export function requestedEventTypes<Type extends z.ZodType<EventType>>(type: Type) {
  return z
    .array(type, { error: 'is not an array of event types' })
    .default([])
    .transform((types) => [...new Set(types)]);
}

/** A field that holds an id. @param inWords the noun with its article: `a webhook`. */
export function idField<N extends Noun>(noun: N, inWords: string) {
  return parsedText((text): Id<N> | null => parseId(noun, text), `is not the id of ${inWords}`, {
    pattern: idPattern(noun),
  });
}
