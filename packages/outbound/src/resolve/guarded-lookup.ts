import { isIP, type LookupFunction } from 'node:net';
import type { AddressGuard } from '../guard/address-guard.ts';
import { RefusedError } from '../guard/refused-error.ts';
import type { NameResolver } from './name-resolver.ts';

/**
 * The `lookup` of a connection. It is called once per connection and hands the socket exactly the addresses it judged, so
 * there is no second answer that a name server could change in between (DNS rebinding). One refused address refuses the
 * whole answer: a connection may pick any of them.
 */
export function createGuardedLookup(guard: AddressGuard, resolver: NameResolver): LookupFunction {
  async function judged(hostname: string): Promise<{ address: string; family: number }[]> {
    const addresses = await resolver.resolve(hostname);
    for (const address of addresses) {
      const refusal = guard.judgeAddress(address);
      if (refusal !== null) throw new RefusedError(`${refusal}, an address of ${hostname}`);
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
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
