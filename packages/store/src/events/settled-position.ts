import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { holdersOf, LOCK_CLASSES } from '../db/advisory-locks.ts';
import { queryOn } from '../db/database.ts';
import { StoreUnavailableError } from '../db/errors.ts';

/** How long a request waits for transactions that record events. Such a transaction takes milliseconds. */
const WAIT_MS_MAX = 1_000;
const PAUSE_MS_MAX = 50;

/** A position, and the transactions that may still commit an event up to there. */
interface Mark {
  readonly position: bigint;
  readonly writers: readonly string[];
}

const LAST_POSITION = `select coalesce(pg_sequence_last_value('event_positions'), 0)::text as position`;

/** The open transactions that recorded an event. The default of `events.position` takes this lock. */
const WRITERS = `select l.virtualtransaction as id ${holdersOf(LOCK_CLASSES.eventPositions, 0)}`;

/**
 * Returns a function that finds the last position up to which the list of events is complete: no open
 * transaction can add an event before it.
 *
 * It waits for the transactions that record events. If one stays open for longer than a second, the function
 * returns the position that it found before. So the list stands still until that transaction ends, and skips
 * nothing. Calls at the same time share the work.
 *
 * @throws StoreUnavailableError when it found none before
 */
export function createSettledPosition(pool: Pool): () => Promise<bigint> {
  let settled: Mark | null = null;
  /** The mark of an earlier call that did not settle in time. */
  let unsettled: Mark | null = null;
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<bigint> | null = null;

  async function find(): Promise<bigint> {
    const position = await readLastPosition(pool); // before the writers: a later writer gets a later position
    const mark = { position, writers: await readWriters(pool) };
    const deadlineMs = performance.now() + WAIT_MS_MAX;
    let writers = mark.writers;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      if (unsettled !== null && isSettled(unsettled, writers)) [settled, unsettled] = [unsettled, null];
      if (isSettled(mark, writers)) {
        [settled, unsettled] = [mark, null];
        return position;
      }
      if (performance.now() > deadlineMs) break;
      await delay(pauseMs);
      writers = await readWriters(pool);
    }
    unsettled ??= mark;
    if (settled === null) throw new StoreUnavailableError('a transaction that records events stays open');
    return settled.position;
  }

  return async () => {
    next ??= running.then(() => {
      next = null;
      const found = find();
      running = found.catch(() => undefined);
      return found;
    });
    return next;
  };
}

function isSettled(mark: Mark, writers: readonly string[]): boolean {
  return !mark.writers.some((id) => writers.includes(id));
}

/** The newest position. Its event may not be committed. */
export async function readLastPosition(pool: Pool): Promise<bigint> {
  const { rows } = await queryOn<{ position: string }>(pool, LAST_POSITION);
  return BigInt(rows[0]?.position ?? 0);
}

async function readWriters(pool: Pool): Promise<string[]> {
  const { rows } = await queryOn<{ id: string }>(pool, WRITERS);
  return rows.map(({ id }) => id);
}
