import { expect, test } from '@jest/globals';
import { networkOf } from './network-of.ts';

test.each([
  ['IPv4', '203.0.113.7', '203.0.113.7'],
  ['IPv4 mapped to IPv6', '::ffff:203.0.113.7', '203.0.113.7'],
  ['a full IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['another address of the same /64', '2001:DB8:0001:2:ffff::1', '2001:db8:1:2::/64'],
  ['a shortened network part', '2001:db8::1', '2001:db8:0:0::/64'],
  ['a shortened begin', '::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['a shortened end', '2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['a shortened middle', '1:2:3::4:5', '1:2:3:0::/64'],
  ['dotted digits at the end', '64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
  ['loopback', '::1', '0:0:0:0::/64'],
  ['an address with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s', (_, address, counted) => {
  expect(networkOf(address)).toBe(counted);
});

test.each(['', 'localhost', '/run/inbound.sock'])('%j is no address', (text) => {
  expect(networkOf(text)).toBeNull();
});
