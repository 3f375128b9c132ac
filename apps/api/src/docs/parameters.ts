import { LIMITS } from '@postrider/domain';
import { z } from 'zod';
import type { Documented } from '../routes/route.ts';
import { exampleOf, exampleOfPath } from './answer-examples.ts';
import type { ExampleSchema, ExampleSchemas } from './answer-examples.ts';

/** A parameter of an operation in the document. */
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly required?: true;
  readonly schema: ExampleSchema & Readonly<Record<string, unknown>>;
}

/** The parameters of a route, each with an example. @param schemas those of the document */
export function parametersOf(
  route: Documented,
  schemas: ExampleSchemas,
): (Parameter & { example: unknown })[] {
  const { path, docs } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true as const,
    schema: { type: 'string' },
    example: exampleOfPath(path, name),
  }));
  const others = [
    ...(docs.idempotent === true ? [IDEMPOTENCY_KEY] : []),
    ...(docs.success.body === 'file' ? [RANGE] : []),
    ...(docs.paged === true ? pageParameters(entryIdSchema(docs.success.body, schemas)) : []),
    ...(docs.query === undefined ? [] : queryParameters(docs.query)),
  ].map((parameter) => ({
    ...parameter,
    example: exampleOf([docs.operationId, parameter.name], parameter.schema, schemas),
  }));
  return [...inPath, ...others];
}

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Once a request has succeeded, the same request with the same key gets the same answer for 24 hours. The API does not run it again.',
  schema: {
    type: 'string',
    maxLength: LIMITS.idempotencyKeyLength,
    pattern: '^[!-~](?:[ -~]*[!-~])?$', // HTTP drops blanks at the ends of a value
  },
};

const RANGE: Parameter = {
  name: 'Range',
  in: 'header',
  description: 'One range of bytes. The API ignores any other value, and sends the whole file.',
  schema: { type: 'string', pattern: '^bytes=(?:[0-9]+-[0-9]*|-[0-9]+)$' },
};

const LIMIT: Parameter = {
  name: 'limit',
  in: 'query',
  schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageEntries, default: LIMITS.pageEntriesDefault },
};

/** OpenAPI cannot say in a schema that two parameters exclude each other. The descriptions say it. */
function pageParameters(idSchema: Parameter['schema']): Parameter[] {
  const cursor = (name: string, other: string): Parameter => ({
    name,
    in: 'query',
    description: `The id of an entry; not with \`${other}\`.`,
    schema: idSchema,
  });
  return [LIMIT, cursor('after', 'before'), cursor('before', 'after')];
}

/** The schema of the ids of a page's entries, which are its cursors. */
function entryIdSchema(
  page: Documented['docs']['success']['body'],
  schemas: ExampleSchemas,
): Parameter['schema'] {
  const name = typeof page === 'string' ? undefined : page.meta()?.id;
  const items = schemas[name ?? '']?.properties?.['data']?.items;
  const entry = items?.$ref === undefined ? items : schemas[items.$ref.split('/').at(-1) ?? ''];
  const id = entry?.properties?.['id'];
  if (id === undefined) throw new Error(`the entries of ${name ?? 'a list'} have no id`);
  const { type, pattern } = id;
  return pattern === undefined ? { type } : { type, pattern };
}

/** The parameters that a validator of the query reads, each with its description. */
function queryParameters(query: z.ZodObject): Parameter[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, property]): Parameter => {
    const { description, ...schema } = property as Parameter['schema'] & { readonly description: string };
    return { name, description, schema, in: 'query', ...(required.includes(name) ? { required: true } : {}) };
  });
}
