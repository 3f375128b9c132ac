import { setImmediate } from 'node:timers/promises';
import { apiKeyDigest } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import type { ApiKey as ApiKeyRow } from '../generated/client.ts';

/** How long the row of a found key may be used again, counted from the sending of the statement that found it. */
const FOUND_FOR_MS = 1_000;
/** Rows kept at most. */
const FOUND_MAX = 10_000;
/** Clocks of two machines differ by 0.5 ms in a second at most (NTP slews by 500 ppm); a timer of Node's may end 1 ms early. */
const CLOCK_MARGIN_MS = 10;

/** How long after its revocation a key may still be served by a process that had found it before. */
export const SERVED_AFTER_REVOCATION_MS = FOUND_FOR_MS + CLOCK_MARGIN_MS;

/** A key's row. The digest has done its work. */
export type FoundKey = Omit<ApiKeyRow, 'digest'>;

interface FoundBefore {
  readonly row: FoundKey;
  readonly sentAtMs: number;
}

/** Look-ups that become one statement. */
interface LookUp {
  /** By their text in base64. */
  readonly digests: Map<string, Buffer>;
  readonly rows: Promise<ReadonlyMap<string, FoundKey>>;
}

/** The keys with these digests that are not revoked. $1 the SHA-256 of each key, each once. */
const FIND_KEYS: Statement = {
  name: 'find-api-keys',
  text: `
    select id, account_id as "accountId", digest, kind, scopes, rate_limit_per_minute as "rateLimitPerMinute",
           created_at as "createdAt", revoked_at as "revokedAt"
    from api_keys
    where digest = any ($1::bytea[]) and revoked_at is null`,
};

/**
 * Finds the row behind the text of a key; null when the key is unknown or revoked.
 *
 * Look-ups that begin in one turn of the event loop are one statement. None joins a statement that has been sent: that one
 * may be older than a revocation that has returned. A row that was found is used again for a second. A key that was not
 * found is asked for every time.
 *
 * @param nowMs a clock that never goes back.
 */
export function createKeyLookUps(
  pool: Pool,
  nowMs = () => performance.now(),
): (key: string) => Promise<FoundKey | null> {
  /** By digest; those of the oldest statement first. */
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

  /** The answer to an older statement may be the later one. */
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
