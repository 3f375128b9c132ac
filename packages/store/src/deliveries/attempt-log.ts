import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { forRetention } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import { LockConflictError, mappingUnavailable } from '../db/errors.ts';

/** Partitions are made this many days ahead, so the relay may be down for a week. */
const DAYS_AHEAD = 7;
/** One relay at a time changes a partition. */
const ATTEMPT_LOG_LOCK = 72707370;
/**
 * While the relay waits for the log's lock, every worker that logs an attempt queues behind it. The timeout
 * is long enough for transactions that write an outcome (milliseconds). A reader such as pg_dump takes
 * longer: then the relay tries again later.
 */
const LOCK_TIMEOUT_MS = 100;
/** Most locks that are in the way end within a second. A reader such as pg_dump outlasts all tries. */
const LOCK_TRIES = 5;
const LOCK_PAUSE_MS = 200;
/**
 * Workers that log an attempt wait while rows are moved. On two cores with a load of 19, moving 5,000 took
 * 0.45 s.
 */
const ROWS_MOVED_MAX = 2_000;
/** The age of rows in the default partition. */
const STRAY_AGE = forRetention('started_at');

/** The log of attempts, partitioned by day in UTC. A day is named YYYYMMDD. */
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
  for (const { day } of rows) if (await makePartition(pool, day)) made.push(day);
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
  for (const { day } of rows) if (await dropPartition(pool, day)) dropped.push(day);
  return dropped;
}

/**
 * Attaches a partition for one day. After the relay was down for more than a week, the default partition
 * holds rows of that day. They are moved, because Postgres refuses a partition whose rows are in the default.
 *
 * Workers that log an attempt meanwhile wait at the whole log. If they waited at the default partition, their
 * row would no longer belong there afterwards, and the insert would fail. The outcome would be lost, and the
 * attempt made again.
 *
 * A day with too many such rows gets no partition. Its attempts stay in the default, and retention drops them
 * there.
 */
async function makePartition(pool: Pool, day: string): Promise<boolean> {
  const name = `attempts_${day}`;
  const from = `timestamptz '${day} 00:00:00+00'`;
  const to = `${from} + interval '24 hours'`; // a day of the session's time zone may be shorter
  const range = `${STRAY_AGE} >= ${from} and ${STRAY_AGE} < ${to}`;
  return inTries(pool, async (client) => {
    if (await isThere(client, name)) return null; // another relay was quicker
    if (await isMoreThanMoved(client, range)) return null;
    // The full identity lets a publication for all tables delete rows, although the log has no key.
    await client.query(
      `create table ${name} (like attempts including defaults); alter table ${name} replica identity full`,
    );
    return `
      lock table only attempts in share row exclusive mode;
      lock table attempts_default in access exclusive mode nowait;
      with moved as (delete from attempts_default where ${range} returning *) insert into ${name} select * from moved;
      alter table attempts attach partition ${name} for values from (${from}) to (${to})`;
  });
}

async function isMoreThanMoved(client: PoolClient, range: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from attempts_default where ${range} order by ${STRAY_AGE} offset ${ROWS_MOVED_MAX} limit 1`,
  );
  return rowCount === 1;
}

/** Postgres locks the default partition, too, because its range changes. */
async function dropPartition(pool: Pool, day: string): Promise<boolean> {
  const name = `attempts_${day}`;
  return inTries(pool, async (client) => {
    if (!(await isThere(client, name))) return null;
    return `
      lock table only attempts in access exclusive mode;
      lock table attempts_default, ${name} in access exclusive mode nowait;
      drop table ${name}`;
  });
}

/**
 * Reads the catalog itself: within a transaction, `to_regclass` may answer from a cache that is older than
 * the lock.
 */
async function isThere(client: PoolClient, table: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    `select exists (select from pg_class where relnamespace = 'public'::regnamespace and relname = $1) as there`,
    [table],
  );
  return rows[0]?.there === true;
}

/** Runs `underLock` again while a lock is taken. @throws LockConflictError after the last try. */
async function inTries(
  pool: Pool,
  prepare: (client: PoolClient) => Promise<string | null>,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await mappingUnavailable(() => underLock(pool, prepare));
    } catch (error) {
      if (!(error instanceof LockConflictError) || tries === LOCK_TRIES) throw error;
    }
    await delay(LOCK_PAUSE_MS);
  }
}

/**
 * Runs the statements that `prepare` returns, in its transaction. Two relays never do so at the same time.
 *
 * The statements that need the log's lock go to Postgres in one message, with the commit. A relay that
 * stopped between two statements would keep all workers waiting. Once the log is locked, nothing else is
 * waited for (`nowait`).
 *
 * @returns false when `prepare` returns null.
 */
async function underLock(
  pool: Pool,
  prepare: (client: PoolClient) => Promise<string | null>,
): Promise<boolean> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query('select pg_advisory_xact_lock($1)', [ATTEMPT_LOG_LOCK]);
    const statements = await prepare(client);
    await client.query(statements === null ? 'rollback' : `${statements}; commit`);
    client.release();
    return statements !== null;
  } catch (error) {
    client.release(error instanceof Error ? error : true);
    throw error;
  }
}
