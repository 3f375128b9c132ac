import { BlockList, isIP } from 'node:net';

/** A network in CIDR notation, such as `10.0.0.0/8` or `fd00::/8`. Bits beyond the prefix are ignored. */
export interface Cidr {
  address: string;
  family: 'ipv4' | 'ipv6';
  /** 0–32 for IPv4, 0–128 for IPv6. */
  prefixLength: number;
}

/**
 * Parses a CIDR. Returns null for any other text: a bare address, a zone id, or a prefix with a leading zero.
 */
export function parseCidr(text: string): Cidr | null {
  const [address, prefix, ...rest] = text.split('/');
  if (address === undefined || prefix === undefined || rest.length > 0) return null;
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 0 || !/^(0|[1-9]\d{0,2})$/.test(prefix)) return null;
  const prefixLength = Number(prefix);
  if (prefixLength > (version === 4 ? 32 : 128)) return null;
  return { address, family: version === 4 ? 'ipv4' : 'ipv6', prefixLength };
}

/** A set of networks. An IPv4 network does not contain its IPv4-mapped IPv6 addresses, and the reverse. */
export class NetworkSet {
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();

  /** @throws Error when one of the texts is not a CIDR. */
  constructor(cidrs: readonly string[]) {
    for (const text of cidrs) {
      const cidr = parseCidr(text);
      if (cidr === null) throw new Error(`not a CIDR: ${text}`);
      const list = cidr.family === 'ipv4' ? this.#ipv4 : this.#ipv6;
      list.addSubnet(cidr.address, cidr.prefixLength, cidr.family);
    }
  }

  /** @param address a valid literal of that family, without zone id */
  has(address: string, family: 'ipv4' | 'ipv6'): boolean {
    return (family === 'ipv4' ? this.#ipv4 : this.#ipv6).check(address, family);
  }
}
