import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { parseEmailAddress } from './email-address.ts';
import type { AccountId, TopicId } from './ids.ts';
import { createSecretBox } from './secret-box.ts';
import { createUnsubscribeTokens } from './unsubscribe-token.ts';

const FIRST = Buffer.alloc(32, 1);
const SECOND = Buffer.alloc(32, 2);
const TARGET = {
  accountId: 'acct_01jd0000000000000000000001' as AccountId,
  topicId: 'top_01jd0000000000000000000001' as TopicId,
  address: `"'<b>&@b.example`,
};

const tokens = createUnsubscribeTokens([FIRST]);

test('a token opens to what it was made of', () => {
  expect(tokens.open(tokens.seal(TARGET))).toEqual(TARGET);
});

test('a token can stand in a path, names nobody, and is new each time', () => {
  const token = tokens.seal(TARGET);
  expect(token).toMatch(/^[\w-]{100,200}$/);
  expect(Buffer.from(token, 'base64url').toString('latin1')).not.toMatch(/b\.example|acct_|top_/);
  expect(tokens.seal(TARGET)).not.toBe(token);
});

test('the longest address has a token', () => {
  const address = `"${String.raw`\\`.repeat(493)}"@b.example`; // JSON writes each backslash as two
  expect(parseEmailAddress(address)).not.toBeNull();
  expect(parseEmailAddress(`x${address}`)).toBeNull();
  expect(tokens.open(tokens.seal({ ...TARGET, address }))?.address).toBe(address);
});

test('any key of the list opens, the first one seals', () => {
  const old = tokens.seal(TARGET);
  const rotated = createUnsubscribeTokens([SECOND, FIRST]);
  expect(rotated.open(old)).toEqual(TARGET);
  expect(tokens.open(rotated.seal(TARGET))).toBeNull();
});

describe('is no token:', () => {
  test('one with a bit changed, wherever it is', () => {
    const bytes = Buffer.from(tokens.seal(TARGET), 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ 1;
      expect(tokens.open(altered.toString('base64url'))).toBeNull();
    }
  });

  test('one that was cut or lengthened, also where decoding would not notice', () => {
    const token = tokens.seal(TARGET);
    for (let length = 0; length < token.length; length += 1) {
      expect(tokens.open(token.slice(0, length))).toBeNull();
    }
    for (const more of ['A', '=', '%', '\n', ' ', '.', 'A'.repeat(100_000)]) {
      expect(tokens.open(token + more)).toBeNull();
      expect(tokens.open(more + token)).toBeNull();
    }
  });

  test('what the same key has sealed for another purpose, and what nobody has sealed', () => {
    const { keyId, sealed } = createSecretBox([FIRST]).seal(
      JSON.stringify(Object.values(TARGET)),
      'unsubscribe',
    );
    expect(tokens.open(Buffer.concat([Buffer.from(keyId, 'hex'), sealed]).toString('base64url'))).toBeNull();
    expect(tokens.open(randomBytes(120).toString('base64url'))).toBeNull();
  });
});
