import { expect, test } from '@jest/globals';
import { countJsonValues } from './body-rules.ts';

test.each([
  ['1', 1, 0],
  ['[1,2,3]', 1, 3],
  ['[1 , 2,\n3, -4, "5"]', 3, 3],
  ['[[],[]]', 5, 0],
  ['[[1],[2]]', 3, 2],
  ['{"a":1,"b":{"c":2}}', 4, 0],
  ['{"a":[1,2], "b":{"type":"Buffer","data":[3]}}', 5, 3],
  ['"a,b[c{,1"', 1, 0],
  [String.raw`["\"",",\\","\\\"[,"]`, 4, 0],
])('%s holds no more than %d values, and %d numbers in arrays', (text, values, numbers) => {
  expect(countJsonValues(Buffer.from(text))).toEqual({ values, numbers });
});

test.each(['', '"', '"\\', '[', ']]]]', '\0\xff'])('of what is no JSON it counts something: %j', (text) => {
  expect(countJsonValues(Buffer.from(text)).values).toBeGreaterThan(0);
});
