/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 has them. */
export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: 'string' };
export const nullableText: Schema = { type: ['string', 'null'] };
export const texts: Schema = { type: 'array', items: text };
export const time: Schema = {
  type: 'string',
  format: 'date-time',
  description: 'ISO 8601 UTC with milliseconds',
};
export function idOf(prefix: string): Schema {
  return { type: 'string', pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$` };
}

/** An object with these fields and no others. */
export function exactly(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', additionalProperties: false, required: Object.keys(properties), properties };
}

export function listOf(items: Schema): Schema {
  return exactly({ object: { const: 'list' }, data: { type: 'array', items } });
}

export function pageOf(items: Schema): Schema {
  return exactly({
    object: { const: 'list' },
    has_more: { type: 'boolean' },
    data: { type: 'array', items },
  });
}
