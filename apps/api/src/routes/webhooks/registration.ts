import { isEventType, parseEndpoint } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { z } from 'zod';
import { plainText } from '../../http/answer.ts';
import type { Answer } from '../../http/answer.ts';
import { invalid } from '../../problems/answers.ts';
import { quoted } from '../../problems/quoted.ts';

/** What a request for a webhook asks for, checked. */
export interface Registration {
  /** Normalised. */
  readonly endpoint: string;
  /** Each once, in the order given; empty: every type. */
  readonly events: readonly EventType[];
}

export type RegistrationParse =
  | { readonly ok: true; readonly registration: Registration }
  | { readonly ok: false; readonly refusal: Answer };

const endpoint = z.string({ error: 'is not a string' }).transform((text, context) => {
  const parsed = parseEndpoint(text);
  if (parsed.ok) return parsed.endpoint;
  context.addIssue(parsed.fault);
  return z.NEVER;
});

const eventType = z
  .string({ error: 'is not a string' })
  .refine(isEventType, { error: 'is not a known event type' });

const registration = z.object({
  endpoint,
  events: z.array(eventType, { error: 'is not an array of event types' }).default([]),
});

/** Contract 4.1: a missing field is refused in plain text, every other fault by a problem that names field and value. */
export function parseRegistration(body: unknown): RegistrationParse {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'endpoint')) {
    return refused(plainText(422, 'The request body lacks the required field endpoint.'));
  }
  const parsed = registration.safeParse(body);
  if (parsed.success) {
    const { endpoint, events } = parsed.data;
    return { ok: true, registration: { endpoint, events: [...new Set(events)] } };
  }
  // Named one at a time: the first is enough to act on, and a body may have thousands.
  const [issue] = parsed.error.issues;
  if (issue === undefined) throw parsed.error;
  return refused(invalid(`${pathText(issue.path)} ${quoted(valueAt(body, issue.path))} ${issue.message}.`));
}

function refused(refusal: Answer): RegistrationParse {
  return { ok: false, refusal };
}

/** `endpoint`, `events`, `events[2]` */
function pathText(path: readonly PropertyKey[]): string {
  return path.map((part) => (typeof part === 'number' ? `[${part}]` : String(part))).join('');
}

function valueAt(body: object, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown>)[part], body);
}
