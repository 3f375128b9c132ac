import { expect, test } from '@jest/globals';
import { countJsonValues, refusalOfCounts, resourceBody } from './body-rules.ts';

test.each([
  ['1', 1, 0, 0],
  ['[1,2,3]', 1, 3, 3],
  ['\ufeff [1 , 2,\n3, -4, "5"]', 3, 3, 5],
  ['[[],[]]', 5, 0, 2],
  ['[[1,2,3],[2,3]]', 3, 5, 2],
  ['[{"a":1,"b":[{},{}]},[[1],2],"],["]', 11, 2, 3],
  ['{"a":1,"b":{"c":2}}', 4, 0, 0],
  ['{"a":[1,2], "b":{"type":"Buffer","data":[3]}}', 5, 3, 0],
  ['"a,b[c{,1"', 1, 0, 0],
  [String.raw`["\"",",\\","\\\"[,"]`, 4, 0, 3],
])(
  '%s holds no more than %d values, and %d numbers in arrays; its array has %d entries',
  (text, values, numbers, entries) => {
    expect(countJsonValues(Buffer.from(text))).toEqual({ values, numbers, entries });
  },
);

test.each(['', '"', '"\\', '[', ']]]]', '\0\xff'])('of what is no JSON it counts something: %j', (text) => {
  expect(countJsonValues(Buffer.from(text)).values).toBeGreaterThan(0);
});

test('a body is refused when it has more than 250,000 values, and not when it has just so many', () => {
  const counts = { values: 250_000, numbers: 0, entries: 0 };
  expect(refusalOfCounts(counts, resourceBody)).toBeNull();
  expect(refusalOfCounts({ ...counts, values: 250_001 }, resourceBody)).toEqual(
    resourceBody.unreadable('has more than 250000 values'),
  );
});
