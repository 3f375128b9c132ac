import { expect, test } from '@jest/globals';
import { peerAddress } from './peer-address.ts';

test.each([
  ['an address of IPv4', '203.0.113.7', '203.0.113.7'],
  ['one of IPv4 on a socket of IPv6', '::ffff:203.0.113.7', '203.0.113.7'],
  ['IPv6, written whole', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['another one of the same /64', '2001:DB8:0001:2:ffff::1', '2001:db8:1:2::/64'],
  ['one whose network is shortened', '2001:db8::1', '2001:db8:0:0::/64'],
  ['one shortened at its begin', '::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['one shortened at its end', '2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['one that ends in dotted digits', '64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
  ['one with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s', (_, address, counted) => {
  expect(peerAddress(address)).toBe(counted);
});

test.each([
  ['loopback', '127.0.0.1'],
  ['another loopback address', '127.8.9.10'],
  ['loopback of IPv6', '::1'],
  ['loopback of IPv4 on a socket of IPv6', '::ffff:127.0.0.1'],
  ['a connection that is closed already', undefined],
])('%s is not counted', (_, address) => {
  expect(peerAddress(address)).toBeNull();
});
