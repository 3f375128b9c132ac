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
  /**
   * Judges the IPv4 addresses that NAT64 maps an IPv6 address to. The IPv6 address itself is checked against the deny
   * list only.
   * @param ipv4 where it leads to, at least one
   */
  judgeTranslated(address: string, ipv4: readonly string[]): string | null;
}

const refused4 = new NetworkSet(refusedIpv4.map((range) => range.cidr));
const refused6 = new NetworkSet(refusedIpv6.map((range) => range.cidr));
const unicast6 = new NetworkSet([globalUnicastIpv6]);

export interface AddressGuardOptions {
  /**
   * CIDRs excused from the refusal, for development. They excuse addresses, never names, and each family for itself:
   * `127.0.0.0/8` does not excuse `::ffff:127.0.0.1`.
   */
  readonly allowedNetworks: readonly string[];
  /** CIDRs refused besides ours. What is denied cannot be excused. */
  readonly deniedNetworks?: readonly string[];
}

/** @throws Error when one of the networks is not a CIDR. */
export function createAddressGuard({
  allowedNetworks,
  deniedNetworks = [],
}: AddressGuardOptions): AddressGuard {
  const excused = new NetworkSet(allowedNetworks);
  const denied = new NetworkSet(deniedNetworks);

  function judgeAddress(address: string): string | null {
    const version = address.includes('%') ? 0 : isIP(address);
    if (version === 0) return `refused address ${address} (not an IP address)`;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (denied.has(address, family)) return `refused address ${address} (denied network)`;
    if (!isRefused(address, family) || excused.has(address, family)) return null;
    return `refused address ${address} (${labelOf(address, family)})`;
  }

  function judgeTranslated(address: string, ipv4: readonly string[]): string | null {
    if (denied.has(address, 'ipv6')) return judgeAddress(address);
    const [refusal = null] = ipv4.map(judgeAddress).filter((each) => each !== null);
    return refusal === null ? null : `${refusal} by way of ${address}`;
  }

  function judgeHost(hostname: string): string | null {
    const literal = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
    if (literal !== hostname || isIP(literal) !== 0) return judgeAddress(literal);
    const reason = judgeName(hostname);
    return reason === null ? null : `refused name ${hostname} (${reason})`;
  }

  return { judgeHost, judgeAddress, judgeTranslated };
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
