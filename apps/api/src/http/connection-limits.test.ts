import { expect, test } from '@jest/globals';
import { clientNetwork } from './connection-limits.ts';

test.each([
  ['IPv4', '203.0.113.7', '203.0.113.7'],
  ['IPv6', '2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['IPv6 with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts by its network', (_, remoteAddress, network) => {
  expect(clientNetwork({ remoteAddress })).toBe(network);
});

test.each([
  ['loopback', '127.0.0.1'],
  ['another loopback address', '127.8.9.10'],
  ['IPv6 loopback', '::1'],
  ['loopback mapped to IPv6', '::ffff:127.0.0.1'],
  ['a closed connection', undefined],
])('%s does not count', (_, remoteAddress) => {
  expect(clientNetwork({ remoteAddress })).toBeNull();
});
