import { expect, test } from '@jest/globals';
import { newSigningSecret } from './signing-secret.ts';

test('a signing secret is whsec_ and 32 random bytes in URL-safe text', () => {
  expect(newSigningSecret()).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
  expect(new Set(Array.from({ length: 100 }, newSigningSecret)).size).toBe(100);
});
