import { expect, test } from '@jest/globals';
import { maskUrlPasswords, maskValue } from './mask.ts';

test.each([
  ['postgres://app:s3cret@db:5432/x', 'postgres://app:***@db:5432/x'],
  ['redis://:s3cret@r', 'redis://:***@r'],
  ['postgres://app:s3@cret@db/x', 'postgres://app:***@db/x'],
  [
    'connect to smtp://u:s3cret@mx failed, redis://:s3cret@r too',
    'connect to smtp://u:***@mx failed, redis://:***@r too',
  ],
  [
    'postgres://db/x?user=u&password=s3cret&sslmode=require',
    'postgres://db/x?user=u&password=***&sslmode=require',
  ],
])('the password in %j is hidden', (text, shown) => {
  expect(maskUrlPasswords(text)).toBe(shown);
});

test.each(['https://host:8443/a@b', 'postgres://app@db/x', 'https://x.example/?q=1', 'no address: a@b'])(
  '%j has no password and stays as it is',
  (text) => {
    expect(maskUrlPasswords(text)).toBe(text);
  },
);

test('a long text without an address is searched in linear time', () => {
  // Takes 60 ms. A quadratic search would take 15 minutes.
  const text = 'a'.repeat(1_000_000);
  expect(maskUrlPasswords(text)).toBe(text);
});

test('a secret that is not a string is hidden whole', () => {
  expect(maskValue(['a'], 'password')).toBe('***');
  expect(maskValue([Buffer.alloc(1)], 'whole')).toBe('***');
  expect(maskValue(5, undefined)).toBe(5);
});
