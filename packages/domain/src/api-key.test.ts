import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { apiKeyDigest, bearerKey, KEY_KINDS, newApiKey } from './api-key.ts';

describe('an API key', () => {
  test.each(KEY_KINDS)('of the kind %s says so and holds 256 random bits', (kind) => {
    expect(newApiKey(kind)).toMatch(new RegExp(`^pr_${kind}_[A-Za-z0-9_-]{43}$`));
    expect(new Set(Array.from({ length: 100 }, () => newApiKey(kind))).size).toBe(100);
  });

  test('is stored as its SHA-256', () => {
    const key = newApiKey('live');
    expect(apiKeyDigest(key).toString('hex')).toBe(createHash('sha256').update(key).digest('hex'));
  });
});

describe('the Authorization header', () => {
  // The same in every run: the titles name it.
  const key = `pr_test_${'Az09_-'.repeat(7)}x`;

  test.each([`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key} `])('%s carries the key', (header) => {
    expect(bearerKey(header)).toBe(key);
  });

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${key}`,
    `Bearer${key}`,
    `Bearer ${key}x`,
    `Bearer x${key}`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}, Bearer ${key}`,
    `Bearer ${key.replace('pr_test', 'pr_prod')}`,
    `Bearer ${key.slice(0, -1)}é`,
    `xBearer ${key}`,
    `Bearer\t${key}`,
  ])('%j carries none', (header) => {
    expect(bearerKey(header)).toBeNull();
  });
});
