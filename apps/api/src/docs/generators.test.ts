import { describe, expect, test } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import { openApiDocument } from './openapi.ts';

/* Programs that make clients from the document read it more narrowly than JSON Schema does. */

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, { readonly headers?: Json }>>;
}

const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
};

/** Each object of the document, with its place. */
function objectsIn(value: unknown, place = ''): { readonly place: string; readonly object: Json }[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, each]) => objectsIn(each, `${place}/${name}`));
  return Array.isArray(value) ? inside : [{ place, object: value as Json }, ...inside];
}

const OBJECTS = objectsIn(DOCUMENT);
const PATTERNS = [
  ...new Set(OBJECTS.flatMap(({ object: { pattern } }) => (typeof pattern === 'string' ? [pattern] : []))),
];

describe('a class of a pattern', () => {
  /** Java and Rust read `[` in a class as a class inside it, and these doubles as an operation on classes. */
  const NESTED = /\[|&&|--|~~|\|\|/;
  const classesOf = (pattern: string): string[] =>
    [...pattern.matchAll(/\\.|\[((?:\\.|[^\]\\])*)\]/g)].flatMap(([, inside]) => inside ?? []);
  const nested = (pattern: string): boolean =>
    classesOf(pattern).some((inside) => NESTED.test(inside.replaceAll(/\\./g, '')));

  test('has the same meaning in each language', () => {
    expect(PATTERNS.length).toBeGreaterThan(10);
    expect(PATTERNS.filter(nested)).toEqual([]);
  });

  test.each([
    ['[^a[b]', true],
    ['[^a\\[\\]b]', false],
    ['\\[a[b-]', false],
    ['[a&&b]', true],
  ])('%s: nested is %p', (pattern, expected) => {
    expect(nested(pattern)).toBe(expected);
  });
});

test('no pattern escapes a slash: a generator that writes it between slashes escapes it again', () => {
  expect(PATTERNS.filter((pattern) => pattern.includes('\\/'))).toEqual([]);
});

test('an object is no choice of objects as well: clients read that as a choice of types', () => {
  const both = OBJECTS.filter(({ object }) => 'anyOf' in object && 'properties' in object);
  expect(both.map(({ place }) => place)).toEqual([]);
});

test('each choice has a type: clients take one without a type as any value', () => {
  const choices = OBJECTS.flatMap(({ place, object: { anyOf = [] } }) =>
    (anyOf as readonly Json[]).map((choice) => ({ place, choice })),
  );
  const untyped = choices.filter(
    ({ choice }) => !['type', '$ref', 'properties', 'const', 'allOf', 'anyOf'].some((word) => word in choice),
  );
  expect(untyped).toEqual([]);
});

test('a text has a format or a pattern: clients make a value of another type from a format', () => {
  const both = OBJECTS.filter(({ object }) => 'format' in object && 'pattern' in object);
  expect(both.map(({ place }) => place)).toEqual([]);
});

test('each bound of a number is one of 32 bits: compilers refuse greater ones', () => {
  const bounds = OBJECTS.flatMap(({ place, object: { minimum = 0, maximum = 0 } }) =>
    [minimum, maximum].map((bound) => ({ place, bits: Number(bound) | 0, bound })),
  );
  expect(bounds.filter(({ bits, bound }) => bits !== bound)).toEqual([]);
});

test('an answer may name a type of event that a later release adds', () => {
  const closed = OBJECTS.filter(
    ({ object }) =>
      Array.isArray(object['enum']) && object['enum'].some((each) => EVENT_TYPES.includes(each as never)),
  ).map(({ place }) => place);
  const ofRequests = /^\/paths\/.*\/parameters\/|^\/components\/schemas\/\w+Request\//;
  expect(closed.filter((place) => !ofRequests.test(place))).toEqual([]);
});

describe('an operation that answers ranges', () => {
  const ranged = Object.values(DOCUMENT.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ responses }) => '206' in responses);

  test('there is one', () => {
    expect(ranged).toHaveLength(1);
  });

  test.each(ranged)(
    '$operationId has the header that asks for one, and those that describe it',
    (operation) => {
      const { parameters = [], responses } = operation;
      expect(parameters.filter((each) => each.in === 'header').map(({ name }) => name)).toEqual(['Range']);
      const ofStatus = (status: string) => Object.keys(responses[status]?.headers ?? {});
      expect({ 206: ofStatus('206'), 416: ofStatus('416') }).toEqual({
        206: expect.arrayContaining(['content-range', 'content-disposition']),
        416: expect.arrayContaining(['content-range']),
      });
      expect(ofStatus('200')).toEqual(expect.arrayContaining(['accept-ranges', 'content-disposition']));
    },
  );
});
