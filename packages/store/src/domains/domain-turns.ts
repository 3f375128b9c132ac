import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccountId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { isUnavailable, mappingUnavailable } from '../db/errors.ts';
import { inTransaction } from '../db/pool.ts';
import type { Statement } from '../db/statement.ts';
import { reachedDomainLimit } from './domain-limits.ts';
import type { DomainLimitReached, DomainLimits } from './domain-limits.ts';

export type TurnResult<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'busy' };

/** What the holder of a turn knows of it. */
export interface DomainTurn {
  /**
   * Whether an operation at the provider that begins now is over before the turn is. One that was not might do its work
   * in another's turn, and take away what that one has made.
   */
  hasTimeLeft(): boolean;
  /**
   * Counts its name among the account's domains that are not verified, until the turn is given on.
   *
   * @param limits of an account that has none of its own.
   * @returns the limit that the account has reached already; else null.
   */
  reserve(accountId: AccountId, limits: DomainLimits): Promise<DomainLimitReached | null>;
}

/**
 * Work on a domain at the provider, one at a time for each name, in all processes together: what two requests do there
 * and here cannot mix, if each asks its turn before it asks the provider. Nothing is locked and no connection held
 * meanwhile.
 */
export interface DomainTurns {
  /**
   * Waits for the turn, then runs `work`, and gives the turn on.
   *
   * @returns busy when others have had it for as long as two turns can last.
   */
  during<T>(name: string, work: (turn: DomainTurn) => Promise<T>): Promise<TurnResult<T>>;
}

/** A turn ends by itself after both together: then it is another's, whether or not its work is done. */
export interface TurnLength {
  /** Of one operation at the provider: it takes no longer. */
  readonly operationMs: number;
  /** For what passes beside it. */
  readonly marginMs: number;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Takes the turn of work on one domain at the provider, if nobody has it or has had it for too long.
 *
 * Guarantee: a turn has one holder at a time. It ends by itself: a holder that crashed is in nobody's way for longer.
 *
 * $1 domain, $2 holder, $3 seconds until the turn ends by itself. Returns the domain, or no row when another has the turn.
 */
const TAKE_TURN: Statement = {
  name: 'take-domain-turn',
  text: `
    insert into domain_turns as t (name, holder, ends_at)
    values ($1, $2, now() + make_interval(secs => $3::float8))
    on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at, account_id = null
    where t.ends_at <= now()
    returning t.name`,
};

export function createDomainTurns(db: Database, { operationMs, marginMs }: TurnLength): DomainTurns {
  const turnMs = operationMs + marginMs;
  return {
    async during(name, work) {
      const holder = randomUUID();
      const endsAtMs = await taken(db, name, holder, turnMs);
      if (endsAtMs === null) return { kind: 'busy' };
      try {
        const turn: DomainTurn = {
          hasTimeLeft: () => performance.now() + operationMs <= endsAtMs,
          reserve: (accountId, limits) => reserve(db, { name, holder, accountId }, limits),
        };
        return { kind: 'done', value: await work(turn) };
      } finally {
        // Where that fails the turn ends by itself, and what the work came to still holds.
        await giveOn(db, name, holder).catch(unlessUnavailable);
      }
    },
  };
}

/**
 * Asks for the turn until it is there, less and less often.
 *
 * @returns when it ends, on this process' clock and no later than it does in Postgres; null after two turns' time.
 */
async function taken(db: Database, name: string, holder: string, turnMs: number): Promise<number | null> {
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
  return mappingUnavailable(() =>
    inTransaction(db.pool, async (client) => {
      const reached = await reachedDomainLimit(client, accountId, name, limits);
      if (reached !== null) return reached;
      const mark = 'update domain_turns set account_id = $3 where name = $1 and holder = $2';
      await client.query(mark, [name, holder, accountId]);
      return null;
    }),
  );
}

function unlessUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}

async function giveOn(db: Database, name: string, holder: string): Promise<void> {
  await mappingUnavailable(() =>
    db.pool.query('delete from domain_turns where name = $1 and holder = $2', [name, holder]),
  );
}
