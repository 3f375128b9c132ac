import type { Resolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import { CurrentResolver } from './current-resolver.ts';
import type { CurrentResolverOptions } from './current-resolver.ts';

/**
 * This machine could not ask: it has no descriptors or memory left, or no name server takes queries. That
 * must not count against an endpoint.
 */
export class NameServersUnreachableError extends Error {
  override name = 'NameServersUnreachableError';
}

/** The name has no address to connect to. The endpoint's owner reads the message. */
export class NameLookupError extends Error {
  override name = 'NameLookupError';
}

export interface NameResolverOptions {
  /** Name servers as `address` or `address:port`. Default: the machine's. */
  servers?: readonly string[];
  /** Monotonic time in milliseconds, for the age of cached answers. */
  nowMs?: () => number;
  /** For tests: the file that names the machine's name servers, and its reader. */
  systemServers?: Pick<CurrentResolverOptions, 'file' | 'create'>;
}

/** Two tries, the first with 1 s, limit a lookup to about 3 s. An attempt has 10 s. */
const QUERY_TIMEOUT_MS = 1000;
const QUERY_TRIES = 2;
/**
 * The records' TTL applies within these limits: at most one query per second, and a moved host is found
 * within 30 s.
 */
const CACHED_MS_MIN = 1000;
const CACHED_MS_MAX = 30_000;
/** Long enough that a backlog for a dead name does not flood the name servers with queries. */
const FAILURE_CACHED_MS = 5000;
const NAMES_MAX = 10_000;
/**
 * The most addresses of a name. Each connection judges them all, and Node gives the TTLs of only 256 records.
 */
const ADDRESSES_MAX = 256;
/** The most addresses in the cache, about 10 MB. Most names have one to eight. */
const ADDRESSES_KEPT_MAX = 100_000;

type Outcome = { addresses: readonly string[]; cachedMs: number } | { failure: string; cachedMs: number };

/**
 * Turns a name into addresses. Lookups of the same name share one query, and an answer is cached for a short
 * time.
 *
 * It asks the name servers directly (c-ares). So it blocks no threads of libuv, and does not read /etc/hosts
 * or a search list. Without a reachable name server every lookup fails within its time limit.
 */
export class NameResolver {
  readonly #resolver: CurrentResolver;
  readonly #cache: LRUCache<string, Outcome>;
  readonly #inFlight = new Map<string, Promise<Outcome>>();

  constructor(options: NameResolverOptions = {}) {
    const nowMs = options.nowMs ?? (() => performance.now());
    const limits = { timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES };
    this.#resolver = new CurrentResolver({
      ...limits,
      nowMs,
      servers: options.servers,
      ...options.systemServers,
    });
    this.#cache = new LRUCache({
      max: NAMES_MAX,
      maxSize: ADDRESSES_KEPT_MAX,
      sizeCalculation: (outcome) => ('failure' in outcome ? 1 : outcome.addresses.length),
      ttl: CACHED_MS_MAX,
      ttlResolution: 0,
      perf: { now: nowMs },
    });
  }

  /**
   * The IPv4 addresses, then the IPv6 addresses. Never empty.
   *
   * @throws NameLookupError or NameServersUnreachableError
   */
  async resolve(hostname: string): Promise<readonly string[]> {
    let outcome = this.#cache.get(hostname) ?? this.#inFlight.get(hostname);
    if (outcome === undefined) {
      // The entry is removed after it is set, also when asking fails at once.
      outcome = this.#ask(hostname).finally(() => this.#inFlight.delete(hostname));
      this.#inFlight.set(hostname, outcome);
    }
    const settled = await outcome;
    if ('failure' in settled) throw new NameLookupError(settled.failure);
    return settled.addresses;
  }

  /**
   * The AAAA records alone, without the cache. Empty when the name servers say that there are none.
   *
   * @throws NameLookupError when the name servers do not answer, or NameServersUnreachableError
   */
  async resolveIpv6(hostname: string): Promise<readonly string[]> {
    try {
      return await this.#resolver.get().resolve6(hostname);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENODATA' || code === 'ENOTFOUND') return [];
      if (OWN_FAULTS.has(code)) throw unreachable(hostname, code);
      throw new NameLookupError(describe(hostname, [code]), { cause: error });
    }
  }

  /** Cancels queries in flight. */
  close(): void {
    this.#resolver.cancel();
  }

  async #ask(hostname: string): Promise<Outcome> {
    const outcome = await query(this.#resolver.get(), hostname);
    this.#cache.set(hostname, outcome, { ttl: outcome.cachedMs });
    return outcome;
  }
}

/** c-ares reports ECONNREFUSED when no server takes a query, and also when it cannot open a socket. */
const OWN_FAULTS = new Set(['ECONNREFUSED', 'ENOMEM', 'EFILE', 'ENOTINITIALIZED', 'EMFILE', 'ENFILE']);

function unreachable(hostname: string, code: string): NameServersUnreachableError {
  return new NameServersUnreachableError(`no name server could be asked for ${hostname} (${code})`);
}

interface AddressRecord {
  address: string;
  /** Seconds. */
  ttl: number;
}

async function query(resolver: Resolver, hostname: string): Promise<Outcome> {
  const answers = await Promise.allSettled<AddressRecord[]>([
    resolver.resolve4(hostname, { ttl: true }),
    resolver.resolve6(hostname, { ttl: true }),
  ]);
  const records = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (records.length === 0) {
    const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : 'ENODATA'));
    const own = codes.find((code) => OWN_FAULTS.has(code));
    if (own !== undefined) throw unreachable(hostname, own);
    return { failure: describe(hostname, codes), cachedMs: FAILURE_CACHED_MS };
  }
  if (records.length > ADDRESSES_MAX) {
    return { failure: `DNS: ${hostname} has too many addresses`, cachedMs: FAILURE_CACHED_MS };
  }
  const ttlMs = Math.min(...records.map((record) => record.ttl)) * 1000;
  return {
    addresses: records.map((record) => record.address),
    cachedMs: Math.min(Math.max(ttlMs, CACHED_MS_MIN), CACHED_MS_MAX),
  };
}

function describe(hostname: string, codes: string[]): string {
  if (codes.includes('ENOTFOUND') || codes.includes('EBADNAME')) return `DNS: ${hostname} does not exist`;
  if (codes.every((code) => code === 'ENODATA')) return `DNS: ${hostname} has no address`;
  const code = codes.find((candidate) => candidate !== 'ENODATA') ?? '';
  return `DNS: no answer for ${hostname} (${code.replace(/^E/, '')})`;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN';
}
