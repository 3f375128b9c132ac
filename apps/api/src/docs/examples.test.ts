import { expect, test } from '@jest/globals';
import { parseIsoTime, parseUrl } from '@postrider/domain';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { closedDocument } from '../../test/document/closed-document.ts';
import { describedRoutes } from './openapi.ts';
import { REQUEST_EXAMPLES } from './request-examples.ts';

/** A part of the document with a schema, and its examples. */
interface Shown {
  readonly pointer: string;
  /** As JSON. Many operations have the same one. */
  readonly schema: string;
  readonly examples: readonly unknown[];
}

type Json = Readonly<Record<string, unknown>>;

/** No object in it allows a field that it does not name, except in `UnsubscribeRequest`. */
const DOCUMENT = closedDocument() as {
  readonly paths: Readonly<Record<string, Json>>;
  readonly webhooks: Readonly<Record<string, Json>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
};

const ajv = new Ajv2020({
  strict: false,
  formats: {
    uri: (text) => parseUrl(text) !== null,
    'date-time': (text) => parseIsoTime(text) !== null,
    binary: true,
  },
});
ajv.addSchema(DOCUMENT, 'document');

const compiled = new Map<string, ValidateFunction>();

/** Each parameter and body of an operation. */
function shownIn(value: unknown, pointer: string): Shown[] {
  if (typeof value !== 'object' || value === null) return [];
  const own =
    'schema' in value
      ? [{ pointer: `${pointer}/schema`, schema: JSON.stringify(value.schema), examples: examplesOf(value) }]
      : [];
  const inside = Object.entries(value).filter(([name]) => !['schema', 'example', 'examples'].includes(name));
  return [
    ...own,
    ...inside.flatMap(([name, each]) =>
      shownIn(each, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    ),
  ];
}

function examplesOf(value: object): readonly unknown[] {
  if ('example' in value) return [value.example];
  const examples = 'examples' in value ? Object.values(value.examples as object) : [];
  return examples.map(({ $ref }: { $ref: string }) => {
    const example = DOCUMENT.components.examples[$ref.split('/').at(-1) ?? ''];
    if (example === undefined) throw new Error(`there is no ${$ref}`);
    return example.value;
  });
}

const OPERATIONS = (['paths', 'webhooks'] as const).flatMap((part) =>
  Object.entries(DOCUMENT[part]).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      pointer: `/${part}/${path.replaceAll('/', '~1')}/${method}`,
      operation,
    })),
  ),
);

test.each(OPERATIONS)(
  '$name: each parameter and body has an example of its schema, with no other field',
  (each) => {
    const shown = shownIn(each.operation, each.pointer);
    const bodies = shown.filter(({ pointer }) => pointer.includes('/content/'));
    expect(bodies.length).toBeGreaterThan(0);
    for (const { pointer, schema, examples } of shown) {
      expect({ pointer, hasExample: examples.length > 0 }).toEqual({ pointer, hasExample: true });
      const validate = compiled.get(schema) ?? ajv.compile({ $ref: `document#${encodeURI(pointer)}` });
      compiled.set(schema, validate);
      for (const example of examples) {
        expect({ pointer, example, errors: validate(example) ? null : validate.errors }).toMatchObject({
          errors: null,
        });
      }
    }
  },
);

const REQUESTS = new Set(describedRoutes().flatMap(({ docs }) => docs.request?.meta()?.id ?? []));

test('each request body has an example, and each example a request body', () => {
  expect(Object.keys(REQUEST_EXAMPLES).sort()).toEqual([...REQUESTS].sort());
});
