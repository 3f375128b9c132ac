import { EVENT_TYPES, idPattern, isEventType, standardSecret } from '@postrider/domain';
import type { Noun } from '@postrider/domain';
import { z } from 'zod';

/*
 * The routes build the schemas of their answers from these parts. An answer has the fields of its schema and
 * no others. The API does not check its answers against the schemas. The compiler and the fuzz test do.
 */

/** The type of the answer that `Schema` describes. */
export type AnswerOf<Schema extends z.ZodType> = Immutable<z.output<Schema>>;

type Immutable<Value> = Value extends readonly (infer Entry)[]
  ? readonly Immutable<Entry>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value;

export const text = z.string();
export const nullableText = z.string().nullable();
export const texts = z.array(text);
export const count = z.int().min(0);
export const time = z.string().meta({ format: 'date-time', description: 'ISO 8601 UTC with milliseconds' });
export const url = z.string().meta({ format: 'uri' });

/** Postrider read the whole message. */
export const complete = z.boolean().meta({
  description: 'False: a part of the message was not read. Its raw bytes have all of it.',
});

/** No `enum`: a strict client would then refuse a whole page with a type of a later release. */
export const eventType = z
  .string()
  .refine(isEventType)
  .meta({
    id: 'EventType',
    description: `A later release may add types. Ignore those that you do not know. Known are ${EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}.`,
  });

/** Only the answers that create a webhook or a routing rule have these fields. */
export const secretFields = {
  signing_secret: z
    .string()
    .regex(/^whsec_/)
    .meta({ description: 'Shown this once.' }),
  standard_secret: z
    .string()
    .regex(/^whsec_/)
    .meta({ description: 'The same secret for libraries of Standard Webhooks. Shown this once.' }),
};

export function shownSecret(signingSecret: string) {
  return { signing_secret: signingSecret, standard_secret: standardSecret(signingSecret) };
}

/**
 * A part of a request's schema: one of these fields is required. Client generators read an `anyOf` beside
 * `properties` as a choice of types, so `allOf` wraps it. Generators take an entry without `properties` for
 * any value.
 */
export function oneRequired(fields: readonly string[]) {
  return { allOf: [{ anyOf: fields.map((field) => ({ required: [field], properties: { [field]: {} } })) }] };
}

export function idOf(noun: Noun) {
  return z.string().regex(new RegExp(idPattern(noun)));
}

/** The answer that only names a resource. */
export function named<Name extends string>(object: Name, noun: Noun) {
  return z.object({ object: z.literal(object), id: idOf(noun) });
}

/** The answer to a DELETE. */
export function deleted<Name extends string>(object: Name, noun: Noun) {
  return named(object, noun).extend({ deleted: z.literal(true) });
}

/** A list that is always whole. */
export function listOf<Entry extends z.ZodType>(entry: Entry) {
  return z.object({ object: z.literal('list'), data: z.array(entry) });
}

/** One page of a list. */
export function pageOf<Entry extends z.ZodType>(entry: Entry) {
  return z.object({ object: z.literal('list'), has_more: z.boolean(), data: z.array(entry) });
}
