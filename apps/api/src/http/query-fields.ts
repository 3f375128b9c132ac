import { LIMITS } from '@postrider/domain';
import { z } from 'zod';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { parseFields } from './fields.ts';
import type { FieldRule, FieldsParse } from './fields.ts';

const queryFields: FieldRule = {
  lacking: (name) => invalid(`${name} is required.`),
  breaking: (detail) => invalid(detail),
};

/** The `limit` of a list: digits. */
export function isLimit(text: string): boolean {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= LIMITS.pageEntries;
}

/** The parameter `limit` of a list: digits. */
export const limitParameter = z
  .string()
  .refine(isLimit, { error: `is not a whole number from 1 to ${LIMITS.pageEntries}` })
  .default(String(LIMITS.pageEntriesDefault))
  .meta({
    description: 'Entries at the most.',
    type: 'integer',
    minimum: 1,
    maximum: LIMITS.pageEntries,
    default: LIMITS.pageEntriesDefault,
  });

/**
 * Parses the query parameters that `schema` names. Each may occur once. A schema of `strictFields` refuses
 * others. Other schemas ignore them.
 *
 * @param required parameters that must exist.
 */
export function parseQuery<Shape extends z.ZodRawShape>(
  query: URLSearchParams,
  schema: z.ZodObject<Shape>,
  required: readonly string[] = [],
): FieldsParse<z.output<z.ZodObject<Shape>>> {
  const doubled = Object.keys(schema.shape).find((name) => query.getAll(name).length > 1);
  if (doubled !== undefined) {
    const refusal = invalid(`${doubled} ${quoted(query.getAll(doubled))} is given more than once.`);
    return { ok: false, refusal };
  }
  return parseFields(Object.fromEntries(query), schema, required, queryFields);
}
