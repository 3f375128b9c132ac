import type { z } from 'zod';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { parseFields, resourceFields } from './fields.ts';
import type { FieldsParse } from './fields.ts';

/**
 * Parses the query parameters that `schema` names. Each may occur once. A schema of `strictFields` refuses
 * others. Other schemas ignore them.
 */
export function parseQuery<Shape extends z.ZodRawShape>(
  query: URLSearchParams,
  schema: z.ZodObject<Shape>,
): FieldsParse<z.output<z.ZodObject<Shape>>> {
  const doubled = Object.keys(schema.shape).find((name) => query.getAll(name).length > 1);
  if (doubled !== undefined) {
    const refusal = invalid(`${doubled} ${quoted(query.getAll(doubled))} is given more than once.`);
    return { ok: false, refusal };
  }
  return parseFields(Object.fromEntries(query), schema, [], resourceFields);
}
