import { expect, test } from '@jest/globals';
import { countJsonValues } from './json-values.ts';

test.each([
  ['1', 1],
  ['[1,2,3]', 4],
  ['[[],[]]', 5],
  ['{"a":1,"b":{"c":2}}', 4],
  ['"a,b[c{"', 1],
  [String.raw`["\"",",\\","\\\"[,"]`, 4],
])('%s holds no more values than %d', (text, values) => {
  expect(countJsonValues(Buffer.from(text))).toBe(values);
});

test.each(['', '"', '"\\', '[', ']]]]', '\0\xff'])('of what is no JSON it counts something: %j', (text) => {
  expect(countJsonValues(Buffer.from(text))).toBeGreaterThan(0);
});
