import { expect, test } from '@jest/globals';
import { canHave, grants, isScope, SCOPES } from './scopes.ts';

test('a key may do exactly what its scopes name', () => {
  const granted = SCOPES.flatMap((held) =>
    SCOPES.filter((needed) => grants([held], needed)).map((needed) => [held, needed]),
  );
  const own = SCOPES.map((scope) => [scope, scope]);
  expect(granted.filter(([held, needed]) => held !== needed)).toEqual([['inbound:manage', 'inbound:read']]);
  expect(granted).toEqual(expect.arrayContaining(own));
});

test('a key without scopes may do nothing', () => {
  expect(SCOPES.filter((needed) => grants([], needed))).toEqual([]);
});

test('a test key can have the scopes of mail alone, a live key every scope', () => {
  expect(SCOPES.filter((scope) => canHave('test', scope))).toEqual([
    'emails:send',
    'emails:read',
    'inbound:read',
    'inbound:send',
    'inbound:manage',
  ]);
  expect(SCOPES.filter((scope) => canHave('live', scope))).toEqual(SCOPES);
});

test('scopes add up', () => {
  expect(grants(['emails:send', 'webhooks:manage'], 'webhooks:manage')).toBe(true);
});

test.each(['', 'webhooks', 'webhooks:*', '*', 'Webhooks:manage', 'constructor'])(
  '"%s" is no scope',
  (text) => {
    expect(isScope(text)).toBe(false);
  },
);

test('every scope of the list is one', () => {
  expect(SCOPES.filter(isScope)).toEqual(SCOPES);
});
