import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { openApiDocument } from '../../src/docs/openapi.ts';
import { drawnText } from './drawn-texts.ts';

/** A JSON Schema, as far as values are drawn from it. The validator of the whole schema decides about the rest. */
export interface DrawnSchema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly DrawnSchema[];
  readonly oneOf?: readonly DrawnSchema[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: DrawnSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, DrawnSchema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: DrawnSchema;
  readonly additionalProperties?: DrawnSchema | boolean;
  readonly maxProperties?: number;
}

const { schemas } = (
  JSON.parse(JSON.stringify(openApiDocument())) as {
    components: { schemas: Readonly<Record<string, DrawnSchema>> };
  }
).components;

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ components: { schemas } }, 'document');

const TYPES = ['null', 'boolean', 'integer', 'string', 'array', 'object'];

/** Fields that some route reads. A route that does not name one of them must ignore it. */
const FIELD_NAMES = [
  ...new Set(Object.values(schemas).flatMap((each) => Object.keys(each.properties ?? {}))),
];

/** Values that a schema of the document allows. */
export function drawnValue(schema: DrawnSchema): fc.Arbitrary<unknown> {
  const allows = ajv.compile(absolute(schema) as object);
  return candidate(schema).filter((value) => allows(value));
}

function absolute(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'));
}

/** Values that a schema of one value allows, and that a schema with `not` nearly always allows. */
export function candidate(schema: DrawnSchema): fc.Arbitrary<unknown> {
  const { $ref, anyOf, oneOf, ...rest } = schema;
  if ($ref !== undefined) return candidate(schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  const forms = anyOf ?? oneOf;
  if (forms !== undefined) return fc.oneof(...forms.map((form) => candidate(merged(rest, form))));
  if (Object.keys(schema).length === 0) return fc.jsonValue({ maxDepth: 1 });
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const implied = schema.pattern === undefined ? TYPES : ['string'];
  const types = schema.type === undefined ? implied : [schema.type].flat();
  return fc.oneof(...types.map((type) => ofType(type, schema)));
}

/** An object that has the keywords of both. */
function merged(base: DrawnSchema, form: DrawnSchema): DrawnSchema {
  const names = Object.keys({ ...base.properties, ...form.properties });
  const fields = names.map((name) => [name, { ...base.properties?.[name], ...form.properties?.[name] }]);
  return {
    ...base,
    ...form,
    ...(names.length === 0 ? {} : { properties: Object.fromEntries(fields) as Record<string, DrawnSchema> }),
    required: [...(base.required ?? []), ...(form.required ?? [])],
  };
}

function ofType(type: string, schema: DrawnSchema): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return integers(schema);
    case 'string':
      return drawnText(schema);
    case 'array':
      return lists(schema);
    case 'object':
      return objects(schema);
    default:
      throw new Error(`nothing is drawn of the type ${type}`);
  }
}

function integers({ minimum: min = -1_000, maximum: max = 1_000 }: DrawnSchema): fc.Arbitrary<number> {
  return fc.integer({ min, max });
}

function lists({ items = {}, minItems = 0, maxItems = Infinity }: DrawnSchema): fc.Arbitrary<unknown[]> {
  const entry = candidate(items);
  const few = fc.array(entry, { minLength: minItems, maxLength: Math.min(maxItems, 3) });
  if (maxItems === Infinity || maxItems === 0) return few;
  const full = entry.map((each) => Array.from({ length: maxItems }, () => each));
  return fc.oneof({ weight: 9, arbitrary: few }, { weight: 1, arbitrary: full });
}

function objects(schema: DrawnSchema): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties = true, maxProperties = 3 } = schema;
  const fields = Object.entries(properties).map(([name, each]) => [name, candidate(each)] as const);
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
  if (additionalProperties === false) return known;
  const others =
    additionalProperties === true
      ? ignoredFields(properties)
      : fc.dictionary(
          candidate(schema.propertyNames ?? { type: 'string' }) as fc.Arbitrary<string>,
          candidate(additionalProperties),
          { maxKeys: Math.min(maxProperties, 2) },
        );
  return fc.tuple(others, known).map(([more, own]) => ({ ...more, ...own }));
}

/** Fields that the schema does not name: none, or every field of other schemas. */
function ignoredFields(properties: object): fc.Arbitrary<object> {
  const names = FIELD_NAMES.filter((name) => !(name in properties));
  const every = fc
    .jsonValue({ maxDepth: 1 })
    .map((value) => Object.fromEntries(names.map((name) => [name, value])));
  return fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: every });
}
