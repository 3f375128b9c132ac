import { describe, expect, test } from '@jest/globals';
import { ipv4Inside, prefixesIn, WELL_KNOWN_PREFIX } from './nat64-prefix.ts';

/**
 * RFC 6052, section 2.4: 192.0.2.33 behind a prefix of each length; and 192.0.0.170, as `ipv4only.arpa` has
 * it.
 */
const EXAMPLES = [
  [32, '2001:db8:c000:221::', '2001:db8:c000:aa::'],
  [40, '2001:db8:1c0:2:21::', '2001:db8:1c0:0:aa::'],
  [48, '2001:db8:122:c000:2:2100::', '2001:db8:122:c000:0:aa00::'],
  [56, '2001:db8:122:3c0:0:221::', '2001:db8:122:3c0:0:aa::'],
  [64, '2001:db8:122:344:c0:2:2100::', '2001:db8:122:344:c0:0:aa00::'],
  [96, '2001:db8:122:344::192.0.2.33', '2001:db8:122:344::c000:aa'],
] as const;

describe('a prefix', () => {
  test.each(EXAMPLES)(
    'of %d bits is told by ipv4only.arpa, and gives back an address',
    (bits, address, known) => {
      const prefixes = prefixesIn(known);
      expect(prefixes.map(({ length }) => length * 8)).toEqual([bits]);
      expect(ipv4Inside(address, prefixes)).toEqual(['192.0.2.33']);
      expect(ipv4Inside('2001:db9::1', prefixes)).toEqual([]);
    },
  );

  test('that everybody knows is behind 64:ff9b::/96 and nowhere else', () => {
    const inside = (address: string) => ipv4Inside(address, [WELL_KNOWN_PREFIX]);
    expect(inside('64:ff9b::808:808')).toEqual(['8.8.8.8']);
    expect(inside('64:ff9b::169.254.169.254')).toEqual(['169.254.169.254']);
    for (const other of ['64:ff9b:1::808:808', '64:ff9b:0:0:0:1:808:808', '::ffff:8.8.8.8', '8.8.8.8']) {
      expect(inside(other)).toEqual([]);
    }
  });

  test.each(['fd00:64::192.0.0.171', '64:ff9b:1::192.0.0.170', '2600:1f18::c000:ab'])(
    'may lie where %s does',
    (known) => {
      expect(prefixesIn(known)).toHaveLength(1);
    },
  );

  test.each([
    '::ffff:192.0.0.170',
    '::192.0.0.170',
    'fe80::192.0.0.170',
    'ff02::192.0.0.170',
    '2001:db8::192.0.2.33',
    '192.0.0.170',
  ])('is not told by %s', (address) => {
    expect(prefixesIn(address)).toEqual([]);
  });
});
