import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccountId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { queryOn, runOn } from '../db/database.ts';
import { isUnavailable } from '../db/errors.ts';
import { inTransaction } from '../db/pool.ts';
import { statement } from '../db/statement.ts';
import { reachedDomainLimit } from './domain-limits.ts';
import type { DomainLimitReached, DomainLimits } from './domain-limits.ts';

export type TurnResult<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'busy' };

/** A turn, as its holder sees it. */
export interface DomainTurn {
  /**
   * True when an operation at the provider that begins now ends before the turn does. A later operation could
   * run during the next holder's turn, and delete what that holder made.
   */
  hasTimeLeft(): boolean;
  /**
   * Counts the name among the account's unverified domains until the turn ends.
   *
   * @param limits apply to an account that has no limits of its own.
   * @returns the limit that the account has already reached; else null.
   */
  reserve(accountId: AccountId, limits: DomainLimits): Promise<DomainLimitReached | null>;
}

/**
 * A turn expires after the sum of both times. Another request may take it then, even if the work has not
 * ended.
 */
export interface TurnLength {
  /** The longest time that one operation at the provider takes. */
  readonly operationMs: number;
  /** Time for all other steps. */
  readonly marginMs: number;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Takes the turn for one domain, if it is free or has expired.
 *
 * Guarantee: a turn has one holder at a time. A holder that crashed blocks the others only until its turn
 * expires.
 *
 * $1 domain, $2 holder, $3 seconds until the turn expires. Returns the domain, or no row when the turn is
 * taken.
 */
const TAKE_TURN = statement('take-domain-turn')`
    insert into domain_turns as t (name, holder, ends_at)
    values ($1, $2, now() + make_interval(secs => $3::float8))
    on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at, account_id = null
    where t.ends_at <= now()
    returning t.name`;

/**
 * A turn is a lease on a domain name: only its holder changes that domain at the provider. It covers all
 * processes. A request takes the turn before it calls the provider, so two requests for one name never mix.
 * The holder keeps no row lock and no connection meanwhile.
 */
export type DomainTurns = ReturnType<typeof createDomainTurns>;

export function createDomainTurns(db: Database, { operationMs, marginMs }: TurnLength) {
  const turnMs = operationMs + marginMs;
  return {
    /**
     * Waits for the turn, runs `work`, and ends the turn.
     *
     * @returns busy when the turn did not come free within the length of two turns.
     */
    async during<T>(name: string, work: (turn: DomainTurn) => Promise<T>): Promise<TurnResult<T>> {
      const holder = randomUUID();
      const endsAtMs = await waitForTurn(db, name, holder, turnMs);
      if (endsAtMs === null) return { kind: 'busy' };
      try {
        const turn: DomainTurn = {
          hasTimeLeft: () => performance.now() + operationMs <= endsAtMs,
          reserve: (accountId, limits) => reserve(db, { name, holder, accountId }, limits),
        };
        return { kind: 'done', value: await work(turn) };
      } finally {
        // If this fails, the turn expires. The result of the work stays valid.
        await endTurn(db, name, holder).catch(unlessUnavailable);
      }
    },
  };
}

/**
 * Polls for the turn, with growing pauses.
 *
 * @returns when the turn expires, as `performance.now()` counts: never later than in Postgres. Null when the
 * turn did not come free within the length of two turns.
 */
async function waitForTurn(
  db: Database,
  name: string,
  holder: string,
  turnMs: number,
): Promise<number | null> {
  const givesUpAtMs = performance.now() + 2 * turnMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const askedAtMs = performance.now();
    if (await take(db, name, holder, turnMs)) return askedAtMs + turnMs;
    if (performance.now() > givesUpAtMs) return null;
    await pause(pauseMs);
  }
}

async function take(db: Database, name: string, holder: string, turnMs: number): Promise<boolean> {
  const rows = await runOn(db.pool, TAKE_TURN, [name, holder, turnMs / 1000]);
  return rows.length > 0;
}

async function reserve(
  db: Database,
  { name, holder, accountId }: { name: string; holder: string; accountId: AccountId },
  limits: DomainLimits,
): Promise<DomainLimitReached | null> {
  return inTransaction(db.pool, async (client) => {
    const reached = await reachedDomainLimit(client, accountId, name, limits);
    if (reached !== null) return reached;
    const mark = 'update domain_turns set account_id = $3 where name = $1 and holder = $2';
    await client.query(mark, [name, holder, accountId]);
    return null;
  });
}

function unlessUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}

async function endTurn(db: Database, name: string, holder: string): Promise<void> {
  await queryOn(db.pool, 'delete from domain_turns where name = $1 and holder = $2', [name, holder]);
}
