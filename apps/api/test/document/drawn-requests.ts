import fc from 'fast-check';
import { openApiDocument, openApiPath } from '../../src/docs/openapi.ts';
import { candidate, drawnValue } from './drawn-values.ts';
import type { DrawnSchema } from './drawn-values.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly required?: true;
  readonly schema: DrawnSchema;
  readonly example: unknown;
}

/** An operation of the document, as far as its requests are drawn from it. */
export interface DrawnOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: DrawnSchema; readonly example: unknown }>>;
  };
}

const { paths } = JSON.parse(JSON.stringify(openApiDocument())) as {
  paths: Readonly<Record<string, Readonly<Record<string, DrawnOperation>>>>;
};

/** @param name of a route: `GET /v1/emails/:id` */
export function operationOf(name: string): DrawnOperation {
  const [method = '', path = ''] = name.split(' ');
  const operation = paths[openApiPath(path)]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${name} is not in the document`);
  return operation;
}

/** What a request has besides its path. */
export interface DrawnRequest {
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the request has none. */
  readonly body: unknown;
}

/** Requests that the operation allows. */
export function drawnRequests(operation: DrawnOperation): fc.Arbitrary<DrawnRequest> {
  return fc.record({
    query: parametersIn('query', operation),
    headers: parametersIn('header', operation),
    body: bodies(operation),
  });
}

/** A request with the examples of the document. */
export function exampleRequest({ requestBody, parameters = [] }: DrawnOperation): DrawnRequest {
  const [content] = Object.values(requestBody?.content ?? {});
  const required = parameters.filter((each) => each.in === 'query' && each.required === true);
  const query = required.map(({ name, example }) => [name, String(example)]);
  return { query: Object.fromEntries(query) as Record<string, string>, headers: {}, body: content?.example };
}

function parametersIn(
  place: string,
  { parameters = [] }: DrawnOperation,
): fc.Arbitrary<Readonly<Record<string, string>>> {
  const own = parameters.filter((each) => each.in === place);
  const values = own.map(({ name, schema, example }) => [
    name,
    // Few texts are names of a register, such as a time zone. The example is one.
    fc.oneof(candidate(schema), fc.constant(example)).map(String),
  ]);
  const requiredKeys = own.filter(({ required }) => required === true).map(({ name }) => name);
  return fc
    .record(Object.fromEntries(values) as Record<string, fc.Arbitrary<string>>, { requiredKeys })
    .map((drawn) => withoutExcluded(drawn as Record<string, string>, own));
}

/** Keeps the first of two parameters of which a description says that they exclude each other. */
function withoutExcluded(
  drawn: Readonly<Record<string, string>>,
  parameters: readonly Parameter[],
): Record<string, string> {
  const excluded = parameters.flatMap(({ name, description = '' }) => {
    const [, other] = /; not with `(\w+)`/.exec(description) ?? [];
    return other !== undefined && name in drawn && name < other ? [other] : [];
  });
  return Object.fromEntries(Object.entries(drawn).filter(([name]) => !excluded.includes(name)));
}

function bodies({ requestBody }: DrawnOperation): fc.Arbitrary<unknown> {
  if (requestBody === undefined) return fc.constant(undefined);
  const [content] = Object.values(requestBody.content);
  const body = drawnValue(content?.schema ?? {});
  return requestBody.required ? body : fc.option(body, { nil: undefined, freq: 5 });
}
