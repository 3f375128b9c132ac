import { isIP } from 'node:net';
import { NetworkSet } from './cidr.ts';
import { judgeName } from './names.ts';
import { globalUnicastIpv6, namedIpv6, refusedIpv4, refusedIpv6, type RefusedRange } from './ranges.ts';

/**
 * Decides where deliveries may go (contract section 3: never to a private, loopback or cloud-metadata address).
 * Both methods return null when the delivery may go there, else one line that says what was refused and why,
 * such as `refused address 169.254.169.254 (link-local)` or `refused name localhost (not a public name)`.
 */
export interface AddressGuard {
  /** @param hostname host of a parsed URL: a name, an IPv4 literal, or an IPv6 literal with or without brackets */
  judgeHost(hostname: string): string | null;
  /** @param address an IP literal without brackets; anything else is refused */
  judgeAddress(address: string): string | null;
}

const refused4 = new NetworkSet(refusedIpv4.map((range) => range.cidr));
const refused6 = new NetworkSet(refusedIpv6.map((range) => range.cidr));
const unicast6 = new NetworkSet([globalUnicastIpv6]);

/**
 * @param options.allowedNetworks CIDRs excused from the refusal, for development. They excuse addresses, never names, and
 *   each family for itself: `127.0.0.0/8` does not excuse `::ffff:127.0.0.1`. Throws when one of them is not a CIDR.
 */
export function createAddressGuard(options: { allowedNetworks: readonly string[] }): AddressGuard {
  const excused = new NetworkSet(options.allowedNetworks);

  function judgeAddress(address: string): string | null {
    const version = address.includes('%') ? 0 : isIP(address);
    if (version === 0) return `refused address ${address} (not an IP address)`;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (!isRefused(address, family) || excused.has(address, family)) return null;
    return `refused address ${address} (${labelOf(address, family)})`;
  }

  function judgeHost(hostname: string): string | null {
    const literal = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
    if (literal !== hostname || isIP(literal) !== 0) return judgeAddress(literal);
    const reason = judgeName(hostname);
    return reason === null ? null : `refused name ${hostname} (${reason})`;
  }

  return { judgeHost, judgeAddress };
}

function isRefused(address: string, family: 'ipv4' | 'ipv6'): boolean {
  if (family === 'ipv4') return refused4.has(address, family);
  return !unicast6.has(address, family) || refused6.has(address, family);
}

function labelOf(address: string, family: 'ipv4' | 'ipv6'): string {
  const ranges: readonly RefusedRange[] = family === 'ipv4' ? refusedIpv4 : [...refusedIpv6, ...namedIpv6];
  const range = ranges.find(({ cidr }) => new NetworkSet([cidr]).has(address, family));
  return range?.label ?? 'not global unicast';
}
