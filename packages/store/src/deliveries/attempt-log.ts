import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { forRetention } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import { LockConflictError } from '../db/errors.ts';
import type { Queryable } from '../db/statement.ts';

/** Partitions are made this many days ahead, so the relay may be down for a week. */
const DAYS_AHEAD = 7;
/** Most locks that are in the way end within a second. A reader such as pg_dump outlasts all tries. */
const LOCK_TRIES = 5;
const LOCK_PAUSE_MS = 200;

/**
 * The log of attempts, partitioned by day in UTC. A day is named YYYYMMDD. SQL functions make and drop days
 * with the rights of the log's owner (migration `20261126150000_attempt_days`), so the relay need not own the
 * log.
 */
export type AttemptLog = ReturnType<typeof createAttemptLog>;

export function createAttemptLog(pool: Pool) {
  return {
    /**
     * Makes the missing partitions of today and the coming days.
     * @returns the days made. @throws LockConflictError when a lock stays taken.
     */
    makeDays: async (): Promise<string[]> => makeDays(pool),
    /** Drops the partitions of old days. @returns the days dropped. @throws LockConflictError */
    dropDays: async (keptDays: number): Promise<string[]> => dropDays(pool, keptDays),
  };
}

/**
 * Whether attempts of today are in the default partition, and no relay makes days. A relay would have made
 * tomorrow's, too.
 */
export async function lacksDays(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ lacks: boolean }>(
    `select to_regclass('attempts_' || to_char((now() at time zone 'utc') + interval '1 day', 'YYYYMMDD')) is null
            and exists (select from attempts_default
                        where ${forRetention('started_at')} >= date_trunc('day', now(), 'utc')) as lacks`,
  );
  return rows[0]?.lacks === true;
}

async function makeDays(pool: Pool): Promise<string[]> {
  const { rows } = await queryOn<{ day: string }>(
    pool,
    `select to_char(d, 'YYYYMMDD') as day
     from generate_series(date_trunc('day', now() at time zone 'utc'),
                          date_trunc('day', now() at time zone 'utc') + make_interval(days => $1), '1 day') d
     where to_regclass('attempts_' || to_char(d, 'YYYYMMDD')) is null
     order by 1`,
    [DAYS_AHEAD],
  );
  const made: string[] = [];
  for (const { day } of rows) if (await change(pool, 'make_attempts_day', day)) made.push(day);
  return made;
}

async function dropDays(pool: Pool, keptDays: number): Promise<string[]> {
  const { rows } = await queryOn<{ day: string }>(
    pool,
    `select substr(c.relname, 10) as day
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'attempts'::regclass and c.relname ~ '^attempts_[0-9]{8}$'
       and substr(c.relname, 10) < to_char((now() at time zone 'utc') - make_interval(days => $1), 'YYYYMMDD')
     order by 1`,
    [keptDays],
  );
  const dropped: string[] = [];
  for (const { day } of rows) if (await change(pool, 'drop_attempts_day', day)) dropped.push(day);
  return dropped;
}

/**
 * Calls the function, up to `LOCK_TRIES` times while a lock is taken. One statement is one transaction: if
 * the relay stops, Postgres releases the log at once.
 * @returns false when there is nothing to do. @throws LockConflictError after the last try.
 */
async function change(
  pool: Pool,
  name: 'make_attempts_day' | 'drop_attempts_day',
  day: string,
): Promise<boolean> {
  const statement = `select ${name}(to_date($1, 'YYYYMMDD')) as done`;
  for (let tries = 1; ; tries += 1) {
    try {
      const { rows } = await queryOn<{ done: boolean }>(pool, statement, [day]);
      return rows[0]?.done === true;
    } catch (error) {
      if (!(error instanceof LockConflictError) || tries === LOCK_TRIES) throw error;
    }
    await delay(LOCK_PAUSE_MS);
  }
}
