import { setImmediate } from 'node:timers/promises';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { onConnection } from '../db/pool.ts';
import { run, statement } from '../db/statement.ts';
import type { ApiKey as ApiKeyRow } from '../generated/client.ts';

/** A found row is used for this long. The time counts from when the statement was sent. */
const FOUND_FOR_MS = 1_000;
/** Maximum number of rows in memory. */
const FOUND_MAX = 10_000;
/**
 * The clocks of two machines drift apart by at most 0.5 ms per second (NTP slews by 500 ppm). A Node timer
 * may fire 1 ms early.
 */
const CLOCK_MARGIN_MS = 10;

/** After a revocation, a process that had found the key may accept it for this long. */
export const SERVED_AFTER_REVOCATION_MS = FOUND_FOR_MS + CLOCK_MARGIN_MS;

/** A key's row without the digest, which is needed only to find it. */
export type FoundKey = Omit<ApiKeyRow, 'digest'> & {
  /** Its account is suspended. */
  readonly isSuspended: boolean;
};

type FoundRow = ApiKeyRow &
  Pick<FoundKey, 'isSuspended'> & {
    /** null: it does not expire. */
    readonly validForMs: number | null;
    /** Its use in this hour is not stored yet. */
    readonly firstUse: boolean;
  };

interface FoundBefore<Key> {
  readonly key: Key;
  readonly sentAtMs: number;
  /** The key is read again from this time on. */
  readonly freshUntilMs: number;
}

/** Look-ups that run as one statement. */
interface LookUp<Key> {
  /** Keyed by the digest in base64. */
  readonly digests: Map<string, Buffer>;
  readonly keys: Promise<ReadonlyMap<string, Key>>;
}

const THIS_HOUR = `date_trunc('hour', now(), 'utc')`;

/**
 * Finds the keys with these digests that are neither revoked nor expired. Postgres's clock decides.
 *
 * $1 SHA-256 digests of the keys, each once. Returns also the milliseconds until a key expires, and whether
 * its use in this hour is not stored yet.
 */
const FIND_KEYS = statement('find-api-keys')`
    select k.id, k.account_id as "accountId", digest, kind, scopes, rate_limit_per_minute as "rateLimitPerMinute",
           k.created_at as "createdAt", revoked_at as "revokedAt", k.name, expires_at as "expiresAt",
           last_used_at as "lastUsedAt",
           (extract(epoch from expires_at - now()) * 1000)::float8 as "validForMs",
           last_used_at is null or last_used_at < ${THIS_HOUR} as "firstUse",
           (select a.suspended_at from accounts a where a.id = k.account_id) is not null as "isSuspended"
    from api_keys k
    where digest = any ($1::bytea[]) and revoked_at is null and (expires_at is null or expires_at > now())`;

/**
 * Stores the hour in which keys are used.
 *
 * Guarantee: it writes a key once an hour, in however many processes this runs, and waits for no lock.
 *
 * $1 ids.
 */
const MARK_USED = statement('mark-keys-used')`
    with stale as materialized (
      select k.id from api_keys k
      where k.id = any ($1::text[]) and (k.last_used_at is null or k.last_used_at < ${THIS_HOUR})
      for no key update skip locked
    )
    update api_keys set last_used_at = ${THIS_HOUR} where id = any (array(select s.id from stale s))`;

const READS_MAX = 2;

/** Reads keys. Reads them once more when the answer took over a second, without the wait for a connection. */
async function readKeys(
  pool: Pool,
  digests: readonly Buffer[],
  nowMs: () => number,
): Promise<{ sentAtMs: number; rows: FoundRow[] }> {
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const read = await onConnection(pool, async (client) => ({
      sentAtMs: nowMs(),
      rows: await run<FoundRow>(client, FIND_KEYS, [digests]),
    }));
    if (nowMs() - read.sentAtMs <= FOUND_FOR_MS) return read;
  }
  throw new StoreUnavailableError('two look-ups of a key took over a second');
}

/**
 * Makes a function that finds a key by its digest. The function returns null when the key is unknown, revoked
 * or expired. It returns no promise when it has the key in memory: each request asks at least twice.
 *
 * Look-ups that begin in one turn of the event loop run as one statement. A later look-up never joins a
 * statement that was already sent: its snapshot may be older than a finished revocation. A found key is
 * reused for a second, or until its key expires. A key that was not found is read every time. An answer that
 * takes over a second is not used, because the key may be revoked since: the keys are read again, once.
 *
 * @param keyOf makes the key of a row. @param nowMs a monotonic clock.
 */
export function createKeyLookUps<Key>(
  pool: Pool,
  keyOf: (row: FoundKey) => Key,
  nowMs = () => performance.now(),
): (digest: Buffer) => Key | Promise<Key | null> {
  /** Keyed by digest. Keys of the oldest statement come first. */
  const found = new Map<string, FoundBefore<Key>>();
  let next: LookUp<Key> | null = null;

  function begin(): LookUp<Key> {
    const digests = new Map<string, Buffer>();
    const keys = setImmediate().then(async () => {
      next = null;
      return ask([...digests.values()]);
    });
    return { digests, keys };
  }

  async function ask(digests: readonly Buffer[]): Promise<ReadonlyMap<string, Key>> {
    const { sentAtMs, rows } = await readKeys(pool, digests, nowMs);
    const byDigest = new Map<string, Key>();
    const unmarked: string[] = [];
    for (const { digest, validForMs, firstUse, ...row } of rows) {
      if (firstUse) unmarked.push(row.id);
      const text = Buffer.from(digest).toString('base64');
      const key = keyOf(row);
      byDigest.set(text, key);
      const freshUntilMs = sentAtMs + Math.min(FOUND_FOR_MS, validForMs ?? Infinity);
      keep(text, { key, sentAtMs, freshUntilMs });
    }
    if (unmarked.length > 0) markUsed(unmarked);
    // Removes expired keys, and fresh ones beyond the maximum. The oldest come first.
    for (const [text, one] of found) {
      if (found.size <= FOUND_MAX && isFresh(one)) break;
      found.delete(text);
    }
    return byDigest;
  }

  /** No request waits for it. After a failure, a later look-up of the hour tries again. */
  function markUsed(ids: readonly string[]): void {
    void runOn(pool, MARK_USED, [ids]).catch(() => undefined);
  }

  /** Answers may arrive out of order, so an older statement never replaces a newer one. */
  function keep(text: string, one: FoundBefore<Key>): void {
    if ((found.get(text)?.sentAtMs ?? 0) > one.sentAtMs) return;
    found.delete(text);
    found.set(text, one);
  }

  function isFresh({ freshUntilMs }: FoundBefore<Key>): boolean {
    return nowMs() < freshUntilMs;
  }

  return (digest) => {
    const text = digest.toString('base64');
    const before = found.get(text);
    if (before !== undefined && isFresh(before)) return before.key;
    next ??= begin();
    next.digests.set(text, digest);
    return next.keys.then((keys) => keys.get(text) ?? null);
  };
}
