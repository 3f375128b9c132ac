import { expect, test } from '@jest/globals';
import { fieldPath, valueAt } from './field-path.ts';

const BODY = { to: ['a', 'b'], cc: 'c', headers: { 'X-A': 1 }, attachments: [{ content: 'x' }] };

test.each([
  [[], ''],
  [['to'], 'to'],
  [['to', 1], 'to[1]'],
  [['cc', 0], 'cc'],
  [['headers', 'X-A'], 'headers.X-A'],
  [['attachments', 0, 'content'], 'attachments[0].content'],
  [['nothing', 'there'], 'nothing.there'],
  [['headers', '\u{1f389}'.repeat(101)], `headers.${'\u{1f389}'.repeat(100)}…`],
])('%j is named as the request wrote it', (path, text) => {
  expect(fieldPath(path, BODY)).toBe(text);
});

test.each([
  [[], BODY],
  [['to', 1], 'b'],
  [['attachments', 0, 'content'], 'x'],
  [['cc', 0], undefined],
  [['nothing', 'there'], undefined],
])('at %j stands what the request wrote, or nothing', (path, value) => {
  expect(valueAt(BODY, path)).toBe(value);
  expect(valueAt(null, ['to'])).toBeUndefined();
});
