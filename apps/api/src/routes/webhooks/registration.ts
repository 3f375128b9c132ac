import { EVENT_TYPES, isEventType, LIMITS, parseEndpoint } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { z } from 'zod';
import { parseFields, resourceFields } from '../../http/fields.ts';
import type { FieldsParse } from '../../http/fields.ts';

/** What a request for a webhook asks for, checked. */
export interface Registration {
  /** Normalised. */
  readonly endpoint: string;
  /** Each once, in the order given; empty: every type. */
  readonly events: readonly EventType[];
}

export const endpoint = z
  .string({ error: 'is not a string' })
  // For the OpenAPI document; `parseEndpoint` judges.
  .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]://', maxLength: LIMITS.endpointLength })
  .transform((text, context) => {
    const parsed = parseEndpoint(text);
    if (parsed.ok) return parsed.endpoint;
    context.addIssue(parsed.fault);
    return z.NEVER;
  });

export const eventType = z
  .string({ error: 'is not a string' })
  .refine(isEventType, { error: 'is not a known event type' })
  .meta({ enum: EVENT_TYPES });

/** A list of event types, each kept once, in the order given; empty where it is absent. */
export function eventTypes<Type extends z.ZodType<EventType>>(type: Type) {
  return z
    .array(type, { error: 'is not an array of event types' })
    .default([])
    .transform((types) => [...new Set(types)]);
}

/** The body of `POST /v1/webhooks`. */
export const registration = z.object({ endpoint, events: eventTypes(eventType) });

/** Contract 4.1: a missing field is refused in plain text, every other fault by a problem that names field and value. */
export function parseRegistration(body: unknown): FieldsParse<Registration> {
  return parseFields(body, registration, ['endpoint'], resourceFields);
}
