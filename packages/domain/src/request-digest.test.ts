import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { requestDigest } from './request-digest.ts';

const digestOf = (text: string): string => requestDigest(JSON.parse(text)).toString('hex');

test.each([
  ['{"a":1,"b":[true,null]}', ' { "b" : [ true , null ] , "a" : 1.0 } '],
  ['{"a":{"x":1,"y":2}}', '{"a":{"y":2,"x":1}}'],
  ['"\\u00e9\\n"', '"é\\u000a"'],
  ['{"a":1}', '{"a":2,"a":1}'],
])('%s and %s are the same request', (one, two) => {
  expect(digestOf(one)).toBe(digestOf(two));
});

test.each([
  ['[1,2]', '[2,1]'],
  ['[1,2]', '[12]'],
  ['[[1],2]', '[[1,2]]'],
  ['["a,b"]', '["a","b"]'],
  ['["a\\",\\"b"]', '["a","b"]'],
  ['"1"', '1'],
  ['"null"', 'null'],
  ['null', 'false'],
  ['{}', '[]'],
  ['{"a":"b"}', '["a","b"]'],
  ['{"a":"b"}', '{"b":"a"}'],
  ['{"a":null}', '{}'],
  ['"\\ud800"', '"\\udfff"'],
  ['1e999', 'null'],
])('%s and %s are two', (one, two) => {
  expect(digestOf(one)).not.toBe(digestOf(two));
});

test('long arrays of bytes have one digest exactly when they are equal', () => {
  const bytes = (length: number, last: unknown) => [...Array<number>(length - 1).fill(7), last];
  const digests = [bytes(5_000, 7), bytes(5_000, 8), bytes(5_001, 7), bytes(5_000, '7'), bytes(5_000, 256)]
    .flatMap((list) => [list, [list, 7], { list }])
    .map((value) => requestDigest(value).toString('hex'));
  expect(new Set(digests).size).toBe(digests.length);
  expect(requestDigest(bytes(5_000, 7))).toEqual(requestDigest(bytes(5_000, 7)));
});

test('two values have one digest exactly when their sorted JSON is one', () => {
  const sorted = (value: unknown): string =>
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    );
  const parsed = fc.json({ maxDepth: 3 }).map((text): unknown => JSON.parse(text));
  fc.assert(
    fc.property(parsed, parsed, (one, two) => {
      expect(requestDigest(one).equals(requestDigest(two))).toBe(sorted(one) === sorted(two));
      expect(requestDigest(one).equals(requestDigest(JSON.parse(sorted(one))))).toBe(true);
    }),
  );
});

test('a body may nest deeper than the stack', () => {
  const deep = JSON.parse('['.repeat(30_000) + ']'.repeat(30_000)) as unknown;
  expect(requestDigest(deep)).toHaveLength(createHash('sha256').digest().length);
});

describe('a body may have as many values as its bytes allow', () => {
  const MANY = 300_000;
  const arrayOf = (last: number): string => `[${'1,'.repeat(MANY - 1)}${last}]`;
  const objectOf = (indexes: readonly number[]): string =>
    `{${indexes.map((index) => `"member ${index}":${index}`).join()}}`;
  const indexes = Array.from({ length: MANY }, (_, index) => index);

  test('in an array, of which each counts', () => {
    expect(digestOf(arrayOf(1))).not.toBe(digestOf(arrayOf(2)));
  });

  test('in an object, in any order', () => {
    expect(digestOf(objectOf(indexes))).toBe(digestOf(objectOf(indexes.toReversed())));
  });
});
