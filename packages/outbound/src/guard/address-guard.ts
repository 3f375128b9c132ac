import { isIP } from 'node:net';
import { NetworkSet } from './cidr.ts';
import { judgeName } from './names.ts';
import { GLOBAL_UNICAST_IPV6, NAMED_IPV6, REFUSED_IPV4, REFUSED_IPV6, type RefusedRange } from './ranges.ts';

const REFUSED_IPV4_NETWORKS = new NetworkSet(REFUSED_IPV4.map((range) => range.cidr));
const REFUSED_IPV6_NETWORKS = new NetworkSet(REFUSED_IPV6.map((range) => range.cidr));
const UNICAST_IPV6_NETWORKS = new NetworkSet([GLOBAL_UNICAST_IPV6]);

export interface AddressGuardOptions {
  /**
   * CIDRs that deliveries may reach although we refuse them, for development. They allow addresses, not
   * names. Each allows its own family only: `127.0.0.0/8` does not allow `::ffff:127.0.0.1`.
   */
  readonly allowedNetworks: readonly string[];
  /** Further CIDRs to refuse. They outrank `allowedNetworks`. */
  readonly deniedNetworks?: readonly string[];
}

/** The guard refused a connection. The message is the guard's line. Nothing was sent. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/**
 * Decides where deliveries may go. Contract section 3 forbids private, loopback and cloud-metadata addresses.
 *
 * Each method returns null when the delivery may go there. Otherwise it returns one line that says what was
 * refused and why: `refused address 169.254.169.254 (link-local)`, `refused name localhost (not a public
 * name)`.
 */
export class AddressGuard {
  readonly #allowed: NetworkSet;
  readonly #denied: NetworkSet;

  /** @throws Error when one of the networks is not a CIDR. */
  constructor({ allowedNetworks, deniedNetworks = [] }: AddressGuardOptions) {
    this.#allowed = new NetworkSet(allowedNetworks);
    this.#denied = new NetworkSet(deniedNetworks);
  }

  /**
   * @param hostname the host of a parsed URL: a name, an IPv4 literal, or an IPv6 literal with or without
   *   brackets.
   */
  judgeHost(hostname: string): string | null {
    const literal = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
    if (literal !== hostname || isIP(literal) !== 0) return this.judgeAddress(literal);
    const reason = judgeName(hostname);
    return reason === null ? null : `refused name ${hostname} (${reason})`;
  }

  /** @param address an IP literal without brackets and zone id. Any other text is refused. */
  judgeAddress(address: string): string | null {
    const version = address.includes('%') ? 0 : isIP(address);
    if (version === 0) return `refused address ${address} (not an IP address)`;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (this.#denied.has(address, family)) return `refused address ${address} (denied network)`;
    if (!isRefused(address, family) || this.#allowed.has(address, family)) return null;
    return `refused address ${address} (${labelOf(address, family)})`;
  }

  /**
   * Judges the IPv4 addresses that NAT64 maps an IPv6 address to. The IPv6 address itself is only checked
   * against the denied networks.
   *
   * @param ipv4 the mapped addresses, at least one.
   */
  judgeTranslated(address: string, ipv4: readonly string[]): string | null {
    if (this.#denied.has(address, 'ipv6')) return this.judgeAddress(address);
    const [refusal = null] = ipv4.map((each) => this.judgeAddress(each)).filter((each) => each !== null);
    return refusal === null ? null : `${refusal} by way of ${address}`;
  }
}

function isRefused(address: string, family: 'ipv4' | 'ipv6'): boolean {
  if (family === 'ipv4') return REFUSED_IPV4_NETWORKS.has(address, family);
  return !UNICAST_IPV6_NETWORKS.has(address, family) || REFUSED_IPV6_NETWORKS.has(address, family);
}

function labelOf(address: string, family: 'ipv4' | 'ipv6'): string {
  const ranges: readonly RefusedRange[] = family === 'ipv4' ? REFUSED_IPV4 : [...REFUSED_IPV6, ...NAMED_IPV6];
  const range = ranges.find(({ cidr }) => new NetworkSet([cidr]).has(address, family));
  return range?.label ?? 'not global unicast';
}
