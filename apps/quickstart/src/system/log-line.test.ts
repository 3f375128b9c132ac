import { expect, test } from '@jest/globals';
import { noteworthy } from './log-line.ts';

test.each([
  ['{"level":"info","msg":"started"}', null],
  ['{"level":"debug","msg":"x"}', null],
  ['{"level":"warn","msg":"pass failed"}', 'warning: pass failed'],
  [
    '{"level":"error","msg":"work left to its lease","error":{"message":"gone\\nfor good","stack":"s"}}',
    'error: work left to its lease: gone',
  ],
  ['{"level":"error","msg":"m","error":"words"}', 'error: m: words'],
  ['Error: a crash', 'Error: a crash'],
  ['"a string"', '"a string"'],
  ['   ', null],
])('of a line of a log the terminal shows what matters: %s', (line, shown) => {
  expect(noteworthy(line)).toBe(shown);
});
