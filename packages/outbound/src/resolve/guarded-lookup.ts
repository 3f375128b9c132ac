import { isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import type { AddressGuard } from '../guard/address-guard.ts';
import { RefusedError } from '../guard/refused-error.ts';
import type { NameResolver } from './name-resolver.ts';
import type { Nat64 } from './nat64.ts';

/**
 * The `lookup` of a connection. It is called once per connection and hands the socket exactly the addresses it judged, so
 * there is no second answer that a name server could change in between (DNS rebinding). One refused address refuses the
 * whole answer: a connection may pick any of them.
 */
export function createGuardedLookup(
  guard: AddressGuard,
  resolver: NameResolver,
  nat64: Nat64,
): LookupFunction {
  async function judged(hostname: string): Promise<{ address: string; family: number }[]> {
    const addresses = await judgeable(await resolver.resolve(hostname));
    for (const address of addresses) {
      const refusal = judgeResolved(address, guard, nat64);
      if (refusal !== null) throw new RefusedError(`${refusal}, an address of ${hostname}`);
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }

  /** Where an IPv6 address leads is not known before the prefixes are: until then only IPv4 is used. */
  async function judgeable(addresses: readonly string[]): Promise<readonly string[]> {
    try {
      await nat64.learn(addresses);
      return addresses;
    } catch (error) {
      const ipv4 = addresses.filter(isIPv4);
      if (ipv4.length === 0) throw error;
      return ipv4;
    }
  }

  return (hostname, options, callback) => {
    judged(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, []),
    );
  };
}

/** Judges the host of an endpoint: a literal as it stands, and by the IPv4 address inside too. */
export function judgeHost(host: string, guard: AddressGuard, nat64: Nat64): string | null {
  return guard.judgeHost(host) ?? (isIPv6(host) ? judgeResolved(host, guard, nat64) : null);
}

/**
 * Judges an address that name servers gave. Those of a network with NAT64 make an AAAA record for a name that has A
 * records only: it is judged by the IPv4 address inside.
 */
export function judgeResolved(address: string, guard: AddressGuard, nat64: Nat64): string | null {
  const inside = nat64.ipv4Inside(address);
  return inside.length === 0 ? guard.judgeAddress(address) : guard.judgeTranslated(address, inside);
}
