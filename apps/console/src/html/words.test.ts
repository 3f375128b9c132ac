import { expect, test } from '@jest/globals';
import { clipped } from './words.ts';

test('a long text is clipped after 300 characters, and never within one', () => {
  const face = '\u{1f600}';
  expect(clipped(`a${face.repeat(299)}`)).toBe(`a${face.repeat(299)}`);
  expect(clipped(`a${face.repeat(300)}`)).toBe(`a${face.repeat(299)}…`);
});
