import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { newSigner, signed } from '../../test/sender-fixture.ts';
import { canonicalBody } from './canonical-body.ts';

describe('RFC 6376, section 3.4', () => {
  test.each([
    ['simple', ' C \r\nD \t E\r\n\r\n\r\n', ' C \r\nD \t E\r\n'],
    ['relaxed', ' C \r\nD \t E\r\n\r\n\r\n', ' C\r\nD E\r\n'],
    ['simple', '', '\r\n'],
    ['relaxed', '', ''],
    ['simple', '\r\n\r\n', '\r\n'],
    ['relaxed', '\r\n \t\r\n', ''],
    ['simple', 'no end', 'no end\r\n'],
    ['relaxed', 'no end \t', 'no end\r\n'],
    ['simple', 'a\nb\r\n\n', 'a\r\nb\r\n'],
    ['relaxed', 'a\n\tb\r\n\n', 'a\r\n b\r\n'],
    ['relaxed', 'a\rb', 'a\rb\r\n'],
  ] as const)('%s: %j', (canonicalization, body, expected) => {
    expect(canonicalBody(Buffer.from(body), canonicalization).toString()).toBe(expected);
  });
});

/** A random generator with a seed (mulberry32), so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('agrees with the hashes that mailauth signs', () => {
  const signer = newSigner('example.com', 's', 'ed25519');
  const pieces = ['a', 'bc', ' ', '  ', '\t', '\r\n', '\r\n\r\n', 'x y', '\u00fc'];

  test.each(['simple', 'relaxed'] as const)('%s', async (canonicalization) => {
    const next = random(20);
    for (let round = 0; round < 300; round += 1) {
      const length = Math.floor(next() * 30);
      const middle = Array.from({ length }, () => pieces[Math.floor(next() * pieces.length)]).join('');
      // Always ends with a line break. For a last line of spaces without one, mailauth departs from the RFC.
      const body = Buffer.from(`${middle}\r\n`);
      const raw = Buffer.concat([Buffer.from('From: a@example.com\r\n\r\n'), body]);
      const signature = (
        await signed(raw, signer, {
          algorithm: 'ed25519-sha256',
          canonicalization: `relaxed/${canonicalization}`,
        })
      )
        .toString()
        .replace(/\s+/g, '');
      const hash = createHash('sha256').update(canonicalBody(body, canonicalization)).digest('base64');
      expect(JSON.stringify(body.toString()) + signature).toContain(`bh=${hash};`);
    }
  });
});
