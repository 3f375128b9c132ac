import { isIPv6 } from 'node:net';
import { NetworkSet } from '../guard/cidr.ts';

/** The bytes of a prefix. A NAT64 translator puts IPv4 addresses after it (RFC 6052, section 2.2). */
export type Nat64Prefix = Buffer;

/** The default prefix of translators (RFC 6052, section 2.1). */
export const WELL_KNOWN_PREFIX: Nat64Prefix = bytesOf('64:ff9b::').subarray(0, 12);

/** The only prefix lengths of translators, in bytes. */
const PREFIX_LENGTHS = [4, 5, 6, 7, 8, 12];
/** The index of the byte that is always zero: bits 64 to 71, inside or before the IPv4 address. */
const RESERVED_BYTE = 8;
/** The addresses of `ipv4only.arpa` (RFC 7050, section 2.2). Any other AAAA record of this name is false. */
const KNOWN_ADDRESSES = ['192.0.0.170', '192.0.0.171'];
/**
 * Prefixes are valid only in global unicast, private and translation networks (RFC 8215). So a DNS answer
 * cannot declare loopback or link-local addresses to be translated ones.
 */
const PREFIX_NETWORKS = new NetworkSet(['2000::/3', 'fc00::/7', '64:ff9b::/32']);

/** True when a translator could have created this address. */
export function mayBeTranslated(address: string): boolean {
  return isIPv6(address) && PREFIX_NETWORKS.has(address, 'ipv6');
}

/** The prefixes in an AAAA record of `ipv4only.arpa`. A record may match with two lengths; both count. */
export function prefixesIn(address: string): Nat64Prefix[] {
  if (!mayBeTranslated(address)) return [];
  const bytes = bytesOf(address);
  return PREFIX_LENGTHS.filter((length) => {
    const { ipv4, rest } = split(bytes, length);
    return KNOWN_ADDRESSES.includes(ipv4) && rest.every((byte) => byte === 0);
  }).map((length) => bytes.subarray(0, length));
}

/** The IPv4 addresses that these translators map an IPv6 address to. Usually there are none. */
export function ipv4Inside(address: string, prefixes: readonly Nat64Prefix[]): string[] {
  if (!isIPv6(address)) return [];
  const bytes = bytesOf(address);
  return prefixes
    .filter((prefix) => prefix.equals(bytes.subarray(0, prefix.length)))
    .map((prefix) => split(bytes, prefix.length).ipv4);
}

/** Splits the bytes after a prefix into the IPv4 address and the rest: the reserved byte and the suffix. */
function split(bytes: Buffer, prefixLength: number): { ipv4: string; rest: number[] } {
  const hasReserved = prefixLength <= RESERVED_BYTE;
  const following = [...bytes.subarray(prefixLength)];
  const reserved = hasReserved ? following.splice(RESERVED_BYTE - prefixLength, 1) : [];
  return { ipv4: following.slice(0, 4).join('.'), rest: [...reserved, ...following.slice(4)] };
}

/** @param address an IPv6 literal without zone id. */
function bytesOf(address: string): Buffer {
  // The URL parser writes every form as hexadecimal groups, even one that ends in a dotted IPv4 address.
  const [head = '', tail = ''] = new URL(`https://[${address}]/`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail.split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
