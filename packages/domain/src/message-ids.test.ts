import { expect, test } from '@jest/globals';
import { answeredIds, messageIdsIn } from './message-ids.ts';

test.each(['<a@b>', '<a@b >', '< a@b>', '<a @b>', 'a@b', ' a@b,', '(my) "a@b"'])(
  '%j has the id a@b',
  (field) => {
    expect(messageIdsIn(field)).toEqual(['a@b']);
  },
);

test('an id beyond a line of RFC 5322, an empty one and words without @ are no ids', () => {
  expect(messageIdsIn(`<${'x'.repeat(999)}> <> < > <y>`)).toEqual(['y']);
  expect(messageIdsIn('your message of today')).toEqual([]);
});

test('the last id of In-Reply-To is answered; several take the place of missing References', () => {
  expect(answeredIds(['Bob <bob@x> message <q@x>'], [])).toEqual({
    inReplyTo: 'q@x',
    references: ['bob@x', 'q@x'],
  });
  expect(answeredIds(['<q@x>'], ['<p@x> <o@x>'])).toEqual({ inReplyTo: 'q@x', references: ['p@x', 'o@x'] });
  expect(answeredIds(['<q@x>'], [])).toEqual({ inReplyTo: 'q@x', references: [] });
});
