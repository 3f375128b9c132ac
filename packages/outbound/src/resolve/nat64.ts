import { ipv4Inside, mayBeTranslated, prefixesIn, WELL_KNOWN_PREFIX } from './nat64-prefix.ts';
import type { Nat64Prefix } from './nat64-prefix.ts';
import type { NameResolver } from './name-resolver.ts';

/** Name servers with DNS64 return AAAA records for this name, and only they do (RFC 7050). */
const PREFIX_NAME = 'ipv4only.arpa';
/** A prefix changes only with the network. One query per minute costs nothing. */
const LEARNED_FOR_MS = 60_000;
/** The pause after a failed query: as long as the resolver caches a failed lookup of a name. */
const ASKED_AGAIN_AFTER_MS = 5_000;

/** The prefixes of the translators between IPv6 and IPv4 in this network (NAT64 with DNS64, RFC 6147). */
export class Nat64 {
  readonly #resolver: Pick<NameResolver, 'resolveIpv6'>;
  readonly #nowMs: () => number;
  #prefixes: readonly Nat64Prefix[] = [WELL_KNOWN_PREFIX];
  #isKnown = false;
  #asked: Promise<void> | undefined;
  #nextQuestionAtMs = -Infinity;

  /** @param nowMs monotonic time in milliseconds. */
  constructor(resolver: Pick<NameResolver, 'resolveIpv6'>, nowMs = (): number => performance.now()) {
    this.#resolver = resolver;
    this.#nowMs = nowMs;
  }

  /**
   * Learns the prefixes that these addresses may have. Returns undefined when the prefixes are known, or when
   * no translator creates such addresses. Until the first answer, a failed query rejects with the resolver's
   * error.
   */
  learn(addresses: readonly string[]): Promise<void> | undefined {
    if (!addresses.some(mayBeTranslated)) return undefined;
    if (this.#nowMs() >= this.#nextQuestionAtMs) {
      this.#nextQuestionAtMs = this.#nowMs() + LEARNED_FOR_MS;
      this.#asked = this.#ask();
      this.#asked.catch(() => undefined); // when the prefixes are known, no caller waits for it
    }
    return this.#isKnown ? undefined : this.#asked;
  }

  /** The IPv4 addresses that this IPv6 address leads to, with the prefixes known now. */
  ipv4Inside(address: string): string[] {
    return ipv4Inside(address, this.#prefixes);
  }

  async #ask(): Promise<void> {
    try {
      const learned = (await this.#resolver.resolveIpv6(PREFIX_NAME)).flatMap(prefixesIn);
      this.#prefixes = [WELL_KNOWN_PREFIX, ...learned];
      this.#isKnown = true;
    } catch (error) {
      // A failed query does not mean that the translator changed, so the prefixes stay.
      this.#nextQuestionAtMs = this.#nowMs() + ASKED_AGAIN_AFTER_MS;
      throw error;
    }
  }
}
