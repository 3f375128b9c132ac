import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createSecretBox } from './secret-box.ts';

const oldKey = randomBytes(32);
const newKey = randomBytes(32);
const secret = 'whsec_at_rest';

describe('a sealed secret', () => {
  test('opens to what was sealed, for its owner', () => {
    const box = createSecretBox([oldKey]);
    expect(box.open(box.seal(secret, 'wh_1'), 'wh_1')).toBe(secret);
  });

  test('does not open for another owner', () => {
    const box = createSecretBox([oldKey]);
    const sealed = box.seal(secret, 'wh_1');
    expect(() => box.open(sealed, 'wh_2')).toThrow();
  });

  test('shows neither the secret nor the same bytes twice', () => {
    const box = createSecretBox([oldKey]);
    const [one, two] = [box.seal(secret, 'wh_1'), box.seal(secret, 'wh_1')];
    expect(Buffer.from(one.sealed).equals(Buffer.from(two.sealed))).toBe(false);
    expect(Buffer.from(one.sealed).includes(secret)).toBe(false);
  });

  test('with any one bit changed does not open', () => {
    const box = createSecretBox([oldKey]);
    const { keyId, sealed } = box.seal('x', 'wh_1');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const altered = Buffer.from(sealed);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => box.open({ keyId, sealed: altered }, 'wh_1')).toThrow();
    }
  });

  test('cut short at any length does not open', () => {
    const box = createSecretBox([oldKey]);
    const { keyId, sealed } = box.seal('', 'wh_1');
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => box.open({ keyId, sealed: sealed.subarray(0, length) }, 'wh_1')).toThrow();
    }
  });
});

describe('rotation', () => {
  const sealedBefore = () => createSecretBox([oldKey]).seal(secret, 'wh_1');

  test('a new first key seals; what the old one sealed still opens', () => {
    const rotated = createSecretBox([newKey, oldKey]);
    expect(rotated.open(sealedBefore(), 'wh_1')).toBe(secret);
    expect(createSecretBox([newKey]).open(rotated.seal(secret, 'wh_1'), 'wh_1')).toBe(secret);
  });

  test('a key that was taken away opens nothing, and the error names it by its id', () => {
    const before = sealedBefore();
    expect(() => createSecretBox([newKey]).open(before, 'wh_1')).toThrow(before.keyId);
  });

  test('the key id does not tell the key', () => {
    const { keyId } = sealedBefore();
    expect(keyId).toMatch(/^[0-9a-f]{8}$/);
    expect(oldKey.toString('hex')).not.toContain(keyId);
  });
});

test.each([[[]], [[Buffer.alloc(31)]], [[oldKey, Buffer.alloc(33)]]])(
  'keys that cannot seal are refused at once',
  (keys) => {
    expect(() => createSecretBox(keys)).toThrow(/key/);
  },
);
