import type { z } from 'zod';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { parseFields, resourceFields } from './fields.ts';
import type { FieldsParse } from './fields.ts';

/** Parses the query parameters that `schema` names. Each may occur once. Others are ignored. */
export function parseQuery<Shape extends z.ZodRawShape>(
  query: URLSearchParams,
  schema: z.ZodObject<Shape>,
): FieldsParse<z.output<z.ZodObject<Shape>>> {
  const names = Object.keys(schema.shape).filter((name) => query.has(name));
  const doubled = names.find((name) => query.getAll(name).length > 1);
  if (doubled !== undefined) {
    const refusal = invalid(`${doubled} ${quoted(query.getAll(doubled))} is given more than once.`);
    return { ok: false, refusal };
  }
  const written = Object.fromEntries(names.map((name) => [name, query.get(name)]));
  return parseFields(written, schema, [], resourceFields);
}
