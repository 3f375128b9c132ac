import { LIMITS } from '@postrider/domain';
import { z } from 'zod';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { parseFields } from './fields.ts';
import type { FieldRule, FieldsParse } from './fields.ts';

const queryFieldRule: FieldRule = {
  missing: (name) => invalid(`${name} is required.`),
  invalid: (detail) => invalid(detail),
};

export const LIMIT_FAULT = `is not a whole number from 1 to ${LIMITS.pageEntries}`;

/** The parameter `limit` of a list. */
export const limitParameter = z
  .string()
  .refine((text) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= LIMITS.pageEntries, {
    error: LIMIT_FAULT,
  })
  .default(String(LIMITS.pageEntriesDefault))
  .meta({
    description: 'Entries at the most.',
    type: 'integer',
    minimum: 1,
    maximum: LIMITS.pageEntries,
    default: LIMITS.pageEntriesDefault,
  })
  .transform(Number);

/** The fault of a query that has one of these parameters more than once, or null. */
export function repetitionIn(query: URLSearchParams, names: readonly string[]): string | null {
  const name = names.find((each) => query.getAll(each).length > 1);
  return name === undefined ? null : `${name} ${quoted(query.getAll(name))} is given more than once.`;
}

/**
 * Parses the query parameters that `schema` names. Each may occur once. A schema of `strictFields` refuses
 * parameters that it does not name. Other schemas ignore such parameters.
 *
 * @param required parameters that must exist.
 */
export function parseQuery<Shape extends z.ZodRawShape>(
  query: URLSearchParams,
  schema: z.ZodObject<Shape>,
  required: readonly string[] = [],
): FieldsParse<z.output<z.ZodObject<Shape>>> {
  const repetition = repetitionIn(query, Object.keys(schema.shape));
  if (repetition !== null) return { ok: false, refusal: invalid(repetition) };
  return parseFields(Object.fromEntries(query), schema, required, queryFieldRule);
}
