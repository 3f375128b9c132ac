import { setImmediate } from 'node:timers/promises';
import { apiKeyDigest } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import type { ApiKey as ApiKeyRow } from '../generated/client.ts';

/** A found row is reused for this long. The time counts from when the statement was sent. */
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
export type FoundKey = Omit<ApiKeyRow, 'digest'>;

interface FoundBefore {
  readonly row: FoundKey;
  readonly sentAtMs: number;
}

/** Look-ups that run as one statement. */
interface LookUp {
  /** Keyed by the digest in base64. */
  readonly digests: Map<string, Buffer>;
  readonly rows: Promise<ReadonlyMap<string, FoundKey>>;
}

/** Finds the keys with these digests that are not revoked. $1 SHA-256 digests of the keys, each once. */
const FIND_KEYS = statement('find-api-keys')`
    select id, account_id as "accountId", digest, kind, scopes, rate_limit_per_minute as "rateLimitPerMinute",
           created_at as "createdAt", revoked_at as "revokedAt"
    from api_keys
    where digest = any ($1::bytea[]) and revoked_at is null`;

/**
 * Makes a function that finds the row of a key by its secret text. The function returns null when the key is
 * unknown or revoked.
 *
 * Look-ups that begin in one turn of the event loop run as one statement. A later look-up never joins a
 * statement that was already sent: its snapshot may be older than a finished revocation. A found row is
 * reused for a second. A key that was not found is read every time.
 *
 * @param nowMs a monotonic clock.
 */
export function createKeyLookUps(
  pool: Pool,
  nowMs = () => performance.now(),
): (key: string) => Promise<FoundKey | null> {
  /** Keyed by digest. Rows of the oldest statement come first. */
  const found = new Map<string, FoundBefore>();
  let next: LookUp | null = null;

  function begin(): LookUp {
    const digests = new Map<string, Buffer>();
    const rows = setImmediate().then(async () => {
      next = null;
      return ask([...digests.values()]);
    });
    return { digests, rows };
  }

  async function ask(digests: readonly Buffer[]): Promise<ReadonlyMap<string, FoundKey>> {
    const sentAtMs = nowMs();
    const rows = await runOn<ApiKeyRow>(pool, FIND_KEYS, [digests]);
    const byDigest = new Map<string, FoundKey>();
    for (const { digest, ...row } of rows) {
      const text = Buffer.from(digest).toString('base64');
      byDigest.set(text, row);
      keep(text, { row, sentAtMs });
    }
    for (const [text, { sentAtMs: at }] of found) {
      if (found.size <= FOUND_MAX && isFresh(at)) break;
      found.delete(text);
    }
    return byDigest;
  }

  /** Answers may arrive out of order, so an older statement never replaces a newer one. */
  function keep(text: string, one: FoundBefore): void {
    if ((found.get(text)?.sentAtMs ?? 0) > one.sentAtMs) return;
    found.delete(text);
    found.set(text, one);
  }

  function isFresh(sentAtMs: number): boolean {
    return nowMs() - sentAtMs < FOUND_FOR_MS;
  }

  return async (key) => {
    const digest = apiKeyDigest(key);
    const text = digest.toString('base64');
    const before = found.get(text);
    if (before !== undefined && isFresh(before.sentAtMs)) return before.row;
    next ??= begin();
    next.digests.set(text, digest);
    return (await next.rows).get(text) ?? null;
  };
}
