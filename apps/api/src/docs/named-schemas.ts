import { z } from 'zod';
import type { Documented } from '../routes/route.ts';
import type { ExampleSchema, ExampleSchemas } from './answer-examples.ts';

/** An object of the document, such as a JSON Schema (draft 2020-12). */
export type JsonObject = Readonly<Record<string, unknown>>;

const SCHEMA_PATH = '#/components/schemas/';

/** Every zod schema with an id in its `meta`, in alphabetical order. */
export function components(routes: readonly Documented[]): ExampleSchemas {
  const requests = new Set(routes.map((route) => route.docs.request?.meta()?.id));
  const [inputSchemas, outputSchemas] = [namedSchemas('input'), namedSchemas('output')];
  const names = Object.keys(outputSchemas).sort();
  return Object.fromEntries(
    names.map((name) => [
      name,
      requests.has(name)
        ? defaultsInDescriptions(plain(inputSchemas[name] ?? {}))
        : plain(outputSchemas[name] ?? {}),
    ]),
  );
}

/** Client generators treat a field with a default as required. So we move the default to the description. */
function defaultsInDescriptions({ properties, ...schema }: ExampleSchema): ExampleSchema {
  if (properties === undefined) return schema;
  const fields = Object.entries(properties).map(([name, field]): [string, ExampleSchema] => {
    const { default: value, description, ...rest } = field as JsonObject;
    if (value === undefined) return [name, field];
    const before = typeof description === 'string' ? `${description} ` : '';
    const described: JsonObject = { ...rest, description: `${before}Default: ${JSON.stringify(value)}.` };
    return [name, described];
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

/** @param io `input` describes what a validator accepts, `output` what an answer contains */
function namedSchemas(io: 'input' | 'output') {
  const uri = (id: string): string => `${SCHEMA_PATH}${id}`;
  const ofAnswers = io === 'output' ? { override: loosen } : {};
  return z.toJSONSchema(z.globalRegistry, { io, uri, unrepresentable: 'any', ...ofAnswers }).schemas;
}

/** The JSON Schema of a body that we send, in full instead of as a reference. */
export function answerSchema(schema: z.ZodType): JsonObject {
  return plain(z.toJSONSchema(schema, { override: loosen }));
}

/**
 * Answers and deliveries may gain fields in any release, so their objects forbid no field. Client generators
 * turn a `date-time` into a date, which they cannot match with a pattern. Zod adds the bounds of a safe
 * integer. A generated client with integers of 32 bits does not compile with these bounds.
 */
function loosen({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** Removes the dialect and the address: the document states them once. */
function plain({ ...schema }: z.core.JSONSchema.BaseSchema): JsonObject {
  delete schema.$schema;
  delete schema.$id;
  return schema;
}

/** @throws Error when the schema's `meta` has no id */
export function schemaName(schema: z.ZodType): string {
  const id = schema.meta()?.id;
  if (id === undefined) throw new Error('a schema of the document needs an id');
  return id;
}

/** A reference to a schema with a name. */
export function ref(schema: z.ZodType): JsonObject {
  return { $ref: `${SCHEMA_PATH}${schemaName(schema)}` };
}
