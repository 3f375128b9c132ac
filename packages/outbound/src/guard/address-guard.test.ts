import { describe, expect, test } from '@jest/globals';
import { AddressGuard } from './address-guard.ts';
import { parseCidr } from './cidr.ts';
import { namedIpv6, refusedIpv4, refusedIpv6 } from './ranges.ts';

const guard = new AddressGuard({ allowedNetworks: [] });

describe('addresses', () => {
  test.each([...refusedIpv4, ...refusedIpv6, ...namedIpv6])(
    '$cidr is refused from end to end as $label',
    (range) => {
      const { first, last } = endsOf(range.cidr);
      expect(guard.judgeAddress(first)).toContain(`refused address ${first} (`);
      expect(guard.judgeAddress(last)).toBe(`refused address ${last} (${range.label})`);
    },
  );

  test.each(refusedIpv4)('the IPv4-mapped forms of $cidr are refused', ({ cidr }) => {
    const { first, last } = endsOf(cidr);
    expect(guard.judgeAddress(`::ffff:${first}`)).not.toBeNull();
    expect(guard.judgeAddress(`::ffff:${last}`)).not.toBeNull();
  });

  test.each([
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '172.15.255.255',
    '172.32.0.0',
    '223.255.255.255',
    '2000::',
    '2001:200::',
    '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:db9::',
    '2003::',
    '2620:4f:7fff:ffff:ffff:ffff:ffff:ffff',
    '2620:4f:8001::',
    '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '3fff:1000::',
  ])('%s, just outside a refused range, is allowed', (address) => {
    expect(guard.judgeAddress(address)).toBeNull();
  });

  test('IPv6 is refused by default outside 2000::/3', () => {
    expect(guard.judgeAddress('1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')).toMatch(/not global unicast/);
    expect(guard.judgeAddress('4000::1')).toMatch(/not global unicast/);
    expect(guard.judgeAddress('100:0:0:1::1')).toMatch(/not global unicast/);
  });

  test('what is no address is refused', () => {
    for (const text of ['', 'example.com', '127.1', '0x7f000001', 'fe80::1%eth0', '2606::1%1', '[::1]']) {
      expect(guard.judgeAddress(text)).toBe(`refused address ${text} (not an IP address)`);
    }
  });
});

describe('hosts', () => {
  test('a literal is judged by its address, with or without brackets', () => {
    expect(guard.judgeHost('169.254.169.254')).toBe('refused address 169.254.169.254 (link-local)');
    expect(guard.judgeHost('[::1]')).toBe('refused address ::1 (loopback)');
    expect(guard.judgeHost('::1')).toBe('refused address ::1 (loopback)');
    expect(guard.judgeHost('[2606:4700:4700::1111]')).toBeNull();
  });

  test.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'foo.localhost',
    'printer.local',
    'db.internal',
    'metadata.google.internal.',
    'metadata.goog',
    'x.metadata.goog',
    'router.home.arpa',
    '1.0.0.127.in-addr.arpa',
    'hidden.onion',
    'redis',
    'redis.',
    '',
    '.',
    'a..b',
    '.example.com',
    'example.com..',
    'evil.127',
    'evil.0x7f',
    `${'a.'.repeat(127)}com`,
  ])('the name %j is refused before any lookup', (name) => {
    expect(guard.judgeHost(name)).toContain(`refused name ${name}`);
  });

  test.each([
    'hooks.example.com',
    'hooks.example.com.',
    'localhost.example.com',
    'mylocal.example',
    'notinternal.dev',
    'a_b.example.com',
  ])('the name %s is left to its addresses', (name) => {
    expect(guard.judgeHost(name)).toBeNull();
  });
});

describe('excused networks', () => {
  test('excuse their addresses and no others', () => {
    const excusing = new AddressGuard({ allowedNetworks: ['127.0.0.1/32', 'fd00::/8'] });
    expect(excusing.judgeAddress('127.0.0.1')).toBeNull();
    expect(excusing.judgeHost('127.0.0.1')).toBeNull();
    expect(excusing.judgeAddress('127.0.0.2')).toMatch(/loopback/);
    expect(excusing.judgeAddress('fd00::1')).toBeNull();
    expect(excusing.judgeAddress('fc00::1')).toMatch(/private/);
  });

  test('never excuse a name', () => {
    const excusing = new AddressGuard({ allowedNetworks: ['0.0.0.0/0', '::/0'] });
    expect(excusing.judgeHost('localhost')).toMatch(/^refused name localhost/);
    expect(excusing.judgeHost('redis')).toMatch(/^refused name redis/);
  });

  test('an IPv4 network does not excuse the mapped form, nor a mapped network the IPv4 form', () => {
    const excusing = new AddressGuard({ allowedNetworks: ['127.0.0.0/8', '::ffff:10.0.0.0/104'] });
    expect(excusing.judgeAddress('::ffff:127.0.0.1')).toMatch(/IPv4-mapped/);
    expect(excusing.judgeAddress('::ffff:7f00:1')).toMatch(/IPv4-mapped/);
    expect(excusing.judgeAddress('10.0.0.1')).toMatch(/private/);
  });

  test('must be CIDRs', () => {
    expect(() => new AddressGuard({ allowedNetworks: ['127.0.0.1'] })).toThrow('not a CIDR: 127.0.0.1');
  });
});

describe('denied networks', () => {
  const denying = new AddressGuard({
    allowedNetworks: ['127.0.0.0/8', 'fd00::/8'],
    deniedNetworks: ['127.0.0.128/25', '8.8.4.0/24', '2600:1f18::/36', '64:ff9b::/96'],
  });

  test('are refused besides ours, each family for itself', () => {
    expect(denying.judgeAddress('8.8.4.4')).toBe('refused address 8.8.4.4 (denied network)');
    expect(denying.judgeHost('[2600:1f18::1]')).toBe('refused address 2600:1f18::1 (denied network)');
    expect(denying.judgeAddress('8.8.8.8')).toBeNull();
    expect(denying.judgeAddress('10.0.0.1')).toMatch(/private/);
  });

  test('win over excused ones', () => {
    expect(denying.judgeAddress('127.0.0.1')).toBeNull();
    expect(denying.judgeAddress('127.0.0.129')).toMatch(/denied network/);
  });

  test('hold for a translated address itself, and for those inside', () => {
    expect(denying.judgeTranslated('64:ff9b::808:808', ['8.8.8.8'])).toMatch(
      /^refused address 64:ff9b::808:808 \(denied/,
    );
    expect(denying.judgeTranslated('fd00:64::808:404', ['8.8.4.4'])).toMatch(
      /^refused address 8.8.4.4 \(denied/,
    );
    expect(denying.judgeTranslated('fd00:64::808:808', ['8.8.8.8'])).toBeNull();
    expect(denying.judgeTranslated('fd00:64::1', ['8.8.8.8', '10.0.0.1'])).toMatch(/private/);
  });

  test('must be CIDRs', () => {
    expect(() => new AddressGuard({ allowedNetworks: [], deniedNetworks: ['8.8.8.8'] })).toThrow(
      'not a CIDR',
    );
  });
});

/** First and last address of a network, in the spelling of a URL. */
function endsOf(cidr: string): { first: string; last: string } {
  const network = parseCidr(cidr);
  if (network === null) throw new Error(cidr);
  const bits = network.family === 'ipv4' ? 32 : 128;
  const hostBits = BigInt(bits - network.prefixLength);
  const first = toNumber(network.address) & ~((1n << hostBits) - 1n);
  const last = first | ((1n << hostBits) - 1n);
  return { first: toText(first, bits), last: toText(last, bits) };
}

function toNumber(address: string): bigint {
  if (!address.includes(':')) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  const [before = '', after = ''] = address.split('::');
  const head = before.split(':').filter(Boolean);
  const tail = after.split(':').filter(Boolean);
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function toText(value: bigint, bits: number): string {
  const size = bits === 32 ? 8 : 16;
  const parts: string[] = [];
  for (let shift = bits - size; shift >= 0; shift -= size) {
    const part = (value >> BigInt(shift)) & ((1n << BigInt(size)) - 1n);
    parts.push(part.toString(bits === 32 ? 10 : 16));
  }
  if (bits === 32) return parts.join('.');
  return new URL(`https://[${parts.join(':')}]/`).hostname.slice(1, -1);
}
