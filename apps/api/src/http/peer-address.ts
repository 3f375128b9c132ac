import { BlockList, isIPv4, isIPv6 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
const IPV6_GROUPS = 8;
/** A /64: the smallest network that a provider gives a customer, who may use each of its addresses. */
const NETWORK_GROUPS = 4;

/**
 * The address whose connections are counted together: one of IPv4, or a /64 of IPv6.
 *
 * @param address as the socket has it. @returns null for loopback, where a local proxy is, and for what is no address.
 */
export function peerAddress(address: string | undefined): string | null {
  const plain = (address ?? '').replace(/%.*$/, '').replace(MAPPED_IPV4, '');
  if (isIPv4(plain)) return LOOPBACK.check(plain, 'ipv4') ? null : plain;
  if (!isIPv6(plain) || LOOPBACK.check(plain, 'ipv6')) return null;
  const network = groupsOf(plain).slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/** All eight, those that `::` stands for included. Dotted digits at the end are behind the network: their number is all that counts. */
function groupsOf(address: string): string[] {
  const [head = '', tail = null] = address.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0').split('::');
  const before = head === '' ? [] : head.split(':');
  if (tail === null) return before;
  const after = tail === '' ? [] : tail.split(':');
  return [...before, ...Array<string>(IPV6_GROUPS - before.length - after.length).fill('0'), ...after];
}
