import { ipv4Inside, mayBeTranslated, prefixesIn, WELL_KNOWN_PREFIX } from './nat64-prefix.ts';
import type { Nat64Prefix } from './nat64-prefix.ts';
import type { NameResolver } from './name-resolver.ts';

/** The translators between IPv6 and IPv4 that the name servers count on (NAT64 with DNS64, RFC 6147). */
export interface Nat64 {
  /**
   * Learns the prefixes that these addresses may lie behind. Undefined: they are known already, or no translator makes
   * such addresses. Until the first answer the promise rejects with the resolver's error when there was none.
   */
  learn(addresses: readonly string[]): Promise<void> | undefined;
  /** The IPv4 addresses that this IPv6 address leads to, by the prefixes known now. */
  ipv4Inside(address: string): string[];
}

/** Name servers that translate answer for this name alone with AAAA records (RFC 7050). */
const PREFIX_NAME = 'ipv4only.arpa';
/** A prefix changes with the network. Asked this often, the question costs nothing. */
const LEARNED_FOR_MS = 60_000;
/** After a question that failed. As long as the resolver keeps a failure. */
const ASKED_AGAIN_AFTER_MS = 5_000;

/** @param nowMs monotonic time in milliseconds */
export function createNat64(
  resolver: Pick<NameResolver, 'resolveIpv6'>,
  nowMs = (): number => performance.now(),
): Nat64 {
  let prefixes: readonly Nat64Prefix[] = [WELL_KNOWN_PREFIX];
  let isKnown = false;
  let asked: Promise<void> | undefined;
  let nextQuestionAtMs = -Infinity;

  async function ask(): Promise<void> {
    try {
      const told = (await resolver.resolveIpv6(PREFIX_NAME)).flatMap(prefixesIn);
      prefixes = [WELL_KNOWN_PREFIX, ...told];
      isKnown = true;
    } catch (error) {
      // Name servers that do not answer now have not changed their translator: the prefixes stay as they are.
      nextQuestionAtMs = nowMs() + ASKED_AGAIN_AFTER_MS;
      throw error;
    }
  }

  return {
    learn(addresses) {
      if (!addresses.some(mayBeTranslated)) return undefined;
      if (nowMs() >= nextQuestionAtMs) {
        nextQuestionAtMs = nowMs() + LEARNED_FOR_MS;
        asked = ask();
        asked.catch(() => undefined); // nobody waits for it once the prefixes are known
      }
      return isKnown ? undefined : asked;
    },
    ipv4Inside: (address) => ipv4Inside(address, prefixes),
  };
}
