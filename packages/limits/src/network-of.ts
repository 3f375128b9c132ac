import { isIPv4, isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
const IPV6_GROUPS = 8;
/** An internet provider gives a customer at least a /64. The customer may use each address in it. */
const NETWORK_GROUPS = 4;

/**
 * Returns the network that stands for one client: an IPv4 address, or the /64 of an IPv6 address.
 *
 * @param address as a socket reports it: with a zone, or IPv4 mapped to IPv6. @returns null for other text.
 */
export function networkOf(address: string): string | null {
  const plain = address.replace(MAPPED_IPV4, '');
  if (isIPv4(plain)) return plain;
  if (!isIPv6(plain)) return null;
  const network = groupsOf(plain).slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/**
 * Expands `::` to all eight groups. Dotted digits at the end become two groups of 0: the network needs only
 * the first four groups.
 */
function groupsOf(address: string): string[] {
  const [head = '', tail = null] = address.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0').split('::');
  const before = head === '' ? [] : head.split(':');
  if (tail === null) return before;
  const after = tail === '' ? [] : tail.split(':');
  return [...before, ...Array<string>(IPV6_GROUPS - before.length - after.length).fill('0'), ...after];
}
