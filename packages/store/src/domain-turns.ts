import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { isUnavailable, mappingUnavailable } from './errors.ts';
import { takeDomainTurn } from './sql/take-domain-turn.ts';

export type TurnResult<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'busy' };

/**
 * Work on a domain at the provider, one at a time for each name, in all processes together: what two requests do there
 * and here cannot mix. Nothing is locked and no connection held meanwhile.
 */
export interface DomainTurns {
  /**
   * Waits for the turn, then runs `work`, and gives the turn on.
   *
   * @returns busy when others have had it for as long as two turns can last.
   */
  during<T>(name: string, work: () => Promise<T>): Promise<TurnResult<T>>;
}

const ASK_EVERY_MS = 100;

/** @param turnMs a turn ends by itself after this long: more than any `work` takes, as it is then another's turn. */
export function createDomainTurns(db: Database, turnMs: number): DomainTurns {
  return {
    async during(name, work) {
      const holder = randomUUID();
      const givesUpAtMs = performance.now() + 2 * turnMs;
      while (!(await take(db, name, holder, turnMs))) {
        if (performance.now() > givesUpAtMs) return { kind: 'busy' };
        await pause(ASK_EVERY_MS);
      }
      try {
        return { kind: 'done', value: await work() };
      } finally {
        // Where that fails the turn ends by itself, and what the work came to still holds.
        await giveOn(db, name, holder).catch(unlessUnavailable);
      }
    },
  };
}

async function take(db: Database, name: string, holder: string, turnMs: number): Promise<boolean> {
  const rows = await runOn(db.pool, takeDomainTurn, [name, holder, turnMs / 1000]);
  return rows.length > 0;
}

function unlessUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}

async function giveOn(db: Database, name: string, holder: string): Promise<void> {
  await mappingUnavailable(() =>
    db.pool.query('delete from domain_turns where name = $1 and holder = $2', [name, holder]),
  );
}
