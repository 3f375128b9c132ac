import { isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import { RefusedError } from '../guard/address-guard.ts';
import type { AddressGuard } from '../guard/address-guard.ts';
import type { NameResolver } from './name-resolver.ts';
import type { Nat64 } from './nat64.ts';

/**
 * A connection tries all addresses that it gets, and a name may have hundreds. An address that does not
 * answer takes 1 s, and an attempt has 10 s.
 */
const TRIED_OF_FAMILY_MAX = 8;

/**
 * The `lookup` of a connection, called once per connection. The socket gets only addresses that were
 * judged. So a name server cannot change its answer after that (DNS rebinding). One refused address refuses
 * the whole answer, because the connection may use any address.
 */
export function createGuardedLookup(
  guard: AddressGuard,
  resolver: Pick<NameResolver, 'resolve'>,
  nat64: Nat64,
): LookupFunction {
  async function resolveAllowed(hostname: string): Promise<{ address: string; family: number }[]> {
    const addresses = await withKnownNat64(await resolver.resolve(hostname));
    for (const address of addresses) {
      const refusal = judgeResolved(address, guard, nat64);
      if (refusal !== null) throw new RefusedError(`${refusal}, an address of ${hostname}`);
    }
    const ipv4 = addresses.filter(isIPv4).slice(0, TRIED_OF_FAMILY_MAX);
    const ipv6 = addresses.filter(isIPv6).slice(0, TRIED_OF_FAMILY_MAX);
    return [...ipv4, ...ipv6].map((address) => ({ address, family: isIP(address) }));
  }

  /**
   * Returns only IPv4 addresses until the NAT64 prefixes are known: before that, IPv6 addresses cannot be
   * judged.
   */
  async function withKnownNat64(addresses: readonly string[]): Promise<readonly string[]> {
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
    resolveAllowed(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, []),
    );
  };
}

/** Judges the host of an endpoint. An IPv6 literal is also judged by the IPv4 address inside. */
export function judgeHost(host: string, guard: AddressGuard, nat64: Nat64): string | null {
  return guard.judgeHost(host) ?? (isIPv6(host) ? judgeResolved(host, guard, nat64) : null);
}

/**
 * Judges an address from a name server. In a network with NAT64, name servers create AAAA records for names
 * that have only A records. Such an address is judged by the IPv4 address inside.
 */
export function judgeResolved(address: string, guard: AddressGuard, nat64: Nat64): string | null {
  const inside = nat64.ipv4Inside(address);
  return inside.length === 0 ? guard.judgeAddress(address) : guard.judgeTranslated(address, inside);
}
