import { Resolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';

/** Turns a name into addresses. Lookups of the same name share one query, and an answer is kept for a short while. */
export interface NameResolver {
  /** All IPv4, then all IPv6 addresses of the name: never empty. Rejects with {@link NameLookupError}. */
  resolve(hostname: string): Promise<readonly string[]>;
  /**
   * The AAAA records alone, asked for anew each time. Empty when the name servers say that there are none; rejects with
   * {@link NameLookupError} when they do not say.
   */
  resolveIpv6(hostname: string): Promise<readonly string[]>;
  /** Gives up the queries under way. */
  close(): void;
}

/** The name has no address to connect to; the message is for the owner of the endpoint. */
export class NameLookupError extends Error {
  override name = 'NameLookupError';
}

export interface NameResolverOptions {
  /** Name servers as `address` or `address:port`; the machine's own when absent. */
  servers?: readonly string[];
  /** Monotonic time in milliseconds, for the age of what is kept. */
  nowMs?: () => number;
}

/** Two tries that begin with 1 s bound a lookup to about 3 s, well inside the 10 s of an attempt. */
const queryTimeoutMs = 1000;
const queryTries = 2;
/** Kept as long as the records' own TTL says, within these bounds: one query a second at most, and moved within 30 s. */
const keptMsMin = 1000;
const keptMsMax = 30_000;
/** A failure is kept just long enough that a backlog for a dead name does not become a flood of queries. */
const failureKeptMs = 5000;
const namesMax = 10_000;

type Outcome = { addresses: readonly string[]; keptMs: number } | { failure: string; keptMs: number };

/**
 * Asks the name servers directly (c-ares): no threads of libuv are held, neither /etc/hosts nor a search list is consulted.
 * With no name server to be reached every lookup fails within its time limit.
 */
export function createNameResolver(options: NameResolverOptions = {}): NameResolver {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const kept = new LRUCache<string, Outcome>({
    max: namesMax,
    ttl: keptMsMax,
    ttlResolution: 0,
    perf: { now: options.nowMs ?? (() => performance.now()) },
  });
  const underWay = new Map<string, Promise<Outcome>>();

  async function ask(hostname: string): Promise<Outcome> {
    try {
      const outcome = await query(resolver, hostname);
      kept.set(hostname, outcome, { ttl: outcome.keptMs });
      return outcome;
    } finally {
      underWay.delete(hostname);
    }
  }

  async function resolve(hostname: string): Promise<readonly string[]> {
    let outcome = kept.get(hostname) ?? underWay.get(hostname);
    if (outcome === undefined) {
      outcome = ask(hostname);
      underWay.set(hostname, outcome);
    }
    const settled = await outcome;
    if ('failure' in settled) throw new NameLookupError(settled.failure);
    return settled.addresses;
  }

  async function resolveIpv6(hostname: string): Promise<readonly string[]> {
    try {
      return await resolver.resolve6(hostname);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENODATA' || code === 'ENOTFOUND') return [];
      throw new NameLookupError(describe(hostname, [code]), { cause: error });
    }
  }

  return { resolve, resolveIpv6, close: () => resolver.cancel() };
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
    return { failure: describe(hostname, codes), keptMs: failureKeptMs };
  }
  const ttlMs = Math.min(...records.map((record) => record.ttl)) * 1000;
  return {
    addresses: records.map((record) => record.address),
    keptMs: Math.min(Math.max(ttlMs, keptMsMin), keptMsMax),
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
