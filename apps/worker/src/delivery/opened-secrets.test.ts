import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createSecretBox } from '@postrider/domain';
import type { SealedSecret } from '@postrider/domain';
import { createOpenedSecrets } from './opened-secrets.ts';

const box = createSecretBox([randomBytes(32)]);

/** Records the owner of each secret that the box opens. */
function counted(openedMax?: number) {
  const asked: string[] = [];
  const open = (sealed: SealedSecret, owner: string) => {
    asked.push(owner);
    return box.open(sealed, owner);
  };
  return { asked, secrets: createOpenedSecrets({ open }, openedMax) };
}

test('a secret is opened once, although each delivery has its own copy of the bytes', () => {
  const { asked, secrets } = counted();
  const sealed = box.seal('whsec_1', 'wh_1');
  for (let times = 0; times < 3; times += 1) {
    const copy = { keyId: sealed.keyId, sealed: Buffer.from(sealed.sealed) };
    expect(secrets.open(copy, 'wh_1')).toBe('whsec_1');
  }
  expect(asked).toEqual(['wh_1']);
});

test('a new secret of the same webhook is opened, and replaces the old one in the cache', () => {
  const { asked, secrets } = counted();
  const [before, after] = [box.seal('whsec_before', 'wh_1'), box.seal('whsec_after', 'wh_1')];
  expect([before, after, after].map((sealed) => secrets.open(sealed, 'wh_1'))).toEqual([
    'whsec_before',
    'whsec_after',
    'whsec_after',
  ]);
  expect(asked).toHaveLength(2);
});

test("a secret that was sealed for another webhook is refused, though the other's is known", () => {
  const { secrets } = counted();
  const sealed = box.seal('whsec_1', 'wh_1');
  secrets.open(sealed, 'wh_1');
  expect(() => secrets.open(sealed, 'wh_2')).toThrow();
  expect(() => secrets.open(sealed, 'wh_2')).toThrow();
});

test('bytes that were altered, and a key that is not there, are refused though the secret is known', () => {
  const { secrets } = counted();
  const sealed = box.seal('whsec_1', 'wh_1');
  secrets.open(sealed, 'wh_1');
  const altered = Buffer.from(sealed.sealed);
  altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ 1;
  expect(() => secrets.open({ ...sealed, sealed: altered }, 'wh_1')).toThrow();
  expect(() => secrets.open({ ...sealed, keyId: '00000000' }, 'wh_1')).toThrow('00000000');
  expect(secrets.open(sealed, 'wh_1')).toBe('whsec_1');
});

test('above its maximum the cache forgets the least recently used secret', () => {
  const { asked, secrets } = counted(2);
  const sealed = new Map(['wh_1', 'wh_2', 'wh_3'].map((owner) => [owner, box.seal(`of ${owner}`, owner)]));
  for (const owner of ['wh_1', 'wh_2', 'wh_1', 'wh_3', 'wh_1', 'wh_2']) {
    expect(secrets.open(sealed.get(owner) as SealedSecret, owner)).toBe(`of ${owner}`);
  }
  expect(asked).toEqual(['wh_1', 'wh_2', 'wh_3', 'wh_2']);
});
