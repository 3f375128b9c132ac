import { expect, test } from '@jest/globals';
import { countJsonValues, refusalOfCounts, resourceBody } from './body-rules.ts';

test.each([
  ['1', 1, 0, 0],
  ['[1,2,3]', 1, 3, 3],
  // -4 and "5" count as values, other numbers apart; the text itself counts one.
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

test.each([
  ['', 1, 0],
  ['"', 1, 0],
  ['"\\', 1, 0],
  ['[', 2, 1],
  [']]]]', 1, 0],
  ['\0\xff', 1, 0],
])(
  'text that is not JSON is counted, too: %j holds %d values; its array has %d entries',
  (text, values, entries) => {
    expect(countJsonValues(Buffer.from(text))).toEqual({ values, numbers: 0, entries });
  },
);

test('250,000 values are allowed, and one more is refused', () => {
  const counts = { values: 250_000, numbers: 0, entries: 0 };
  expect(refusalOfCounts(counts, resourceBody)).toBeNull();
  expect(refusalOfCounts({ ...counts, values: 250_001 }, resourceBody)).toEqual(
    resourceBody.unreadable('has more than 250000 values'),
  );
});
