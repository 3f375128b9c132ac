import { expect, test } from '@jest/globals';
import { messageOf } from './error-words.ts';

test('messageOf reads what Node puts into an AggregateError, and what is thrown without being an error', () => {
  expect(messageOf(new Error('a'))).toBe('a');
  expect(messageOf(new AggregateError([new Error('a'), new Error('b')], ''))).toBe('a; b');
  expect(messageOf(new AggregateError([new Error('a')], 'own'))).toBe('own');
  expect(messageOf('text')).toBe('text');
});
