import { isIPv4 } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { AddressGuard } from './address-guard.ts';
import { NAMED_IPV6, REFUSED_IPV4, REFUSED_IPV6 } from './ranges.ts';

const guard = new AddressGuard({ allowedNetworks: [] });

/**
 * The first and the last address of each refused network, from the IANA Special-Purpose Address Registries
 * (RFC 6890). They are written out, so that a wrong prefix in ranges.ts shows.
 */
const REFUSED: readonly [first: string, last: string, label: string][] = [
  ['0.0.0.0', '0.255.255.255', 'this network'],
  ['10.0.0.0', '10.255.255.255', 'private'],
  ['100.64.0.0', '100.127.255.255', 'carrier-grade NAT'],
  ['127.0.0.0', '127.255.255.255', 'loopback'],
  ['168.63.129.16', '168.63.129.16', 'cloud metadata'],
  ['169.254.0.0', '169.254.255.255', 'link-local'],
  ['172.16.0.0', '172.31.255.255', 'private'],
  ['192.0.0.0', '192.0.0.255', 'protocol assignments'],
  ['192.0.2.0', '192.0.2.255', 'documentation'],
  ['192.31.196.0', '192.31.196.255', 'AS112'],
  ['192.52.193.0', '192.52.193.255', 'AMT relay'],
  ['192.88.99.0', '192.88.99.255', '6to4 relay'],
  ['192.168.0.0', '192.168.255.255', 'private'],
  ['192.175.48.0', '192.175.48.255', 'AS112'],
  ['198.18.0.0', '198.19.255.255', 'benchmarking'],
  ['198.51.100.0', '198.51.100.255', 'documentation'],
  ['203.0.113.0', '203.0.113.255', 'documentation'],
  ['224.0.0.0', '239.255.255.255', 'multicast'],
  ['240.0.0.0', '255.255.255.255', 'reserved'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', 'protocol assignments'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', 'documentation'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '6to4'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', 'AS112'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', 'documentation'],
  ['::', '::', 'unspecified'],
  ['::1', '::1', 'loopback'],
  ['::', '::ffff:ffff', 'IPv4-compatible'],
  ['::ffff:0:0', '::ffff:ffff:ffff', 'IPv4-mapped'],
  ['::ffff:0:0:0', '::ffff:0:ffff:ffff', 'IPv4-translated'],
  ['64:ff9b::', '64:ff9b::ffff:ffff', 'NAT64'],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', 'NAT64'],
  ['100::', '100::ffff:ffff:ffff:ffff', 'discard-only'],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'segment routing'],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'private'],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'link-local'],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'site-local'],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
];

describe('addresses', () => {
  test.each(REFUSED)('%s to %s is refused (%s)', (first, last, label) => {
    expect(guard.judgeAddress(first)).toContain(`refused address ${first} (`);
    expect(guard.judgeAddress(last)).toBe(`refused address ${last} (${label})`);
  });

  test.each(REFUSED.filter(([first]) => isIPv4(first)))(
    'the IPv4-mapped forms of %s to %s are refused',
    (first, last) => {
      expect(guard.judgeAddress(`::ffff:${first}`)).not.toBeNull();
      expect(guard.judgeAddress(`::ffff:${last}`)).not.toBeNull();
    },
  );

  test('no refused network is missing above', () => {
    expect(REFUSED.length).toBe(REFUSED_IPV4.length + REFUSED_IPV6.length + NAMED_IPV6.length);
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
