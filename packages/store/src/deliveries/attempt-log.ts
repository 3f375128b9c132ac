import type { Pool, PoolClient } from 'pg';
import { forRetention } from '../db/bounded-step.ts';
import { mappingUnavailable } from '../db/errors.ts';

/** The log of attempts is partitioned by day, in UTC. A day is named YYYYMMDD. */
export interface AttemptLog {
  /** Makes the partitions of today and the coming days that are not there. @returns the days made. */
  makeDays(): Promise<string[]>;
  /** Drops the partitions of days that are past. @returns the days dropped. */
  dropDays(keptDays: number): Promise<string[]>;
}

/** Partitions stand ready this many days ahead, so that a relay may be away for a week. */
const DAYS_AHEAD = 7;
/** One relay tends the log at a time; the others find the lock taken and let it be. */
const ATTEMPT_LOG_LOCK = 72707370;
/**
 * All who log an attempt queue behind a wait for the log's lock. It covers the transactions that are writing an outcome
 * (milliseconds). A reader, such as pg_dump, takes longer: the next try comes later.
 */
const LOCK_TIMEOUT_MS = 100;
/** All who log an attempt wait while rows are moved. On two cores with a load of 19, moving 5,000 took 0.45 s. */
const ROWS_MOVED_MAX = 2_000;
/** In the default partition. */
const STRAY_AGE = forRetention('started_at');

export function createAttemptLog(pool: Pool): AttemptLog {
  return {
    makeDays: () => mappingUnavailable(() => makeDays(pool)),
    dropDays: (keptDays) => mappingUnavailable(() => dropDays(pool, keptDays)),
  };
}

async function makeDays(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ day: string }>(
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
  const { rows } = await pool.query<{ day: string }>(
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
 * Attaches a partition for one day. Rows of that day that already went to the default partition (a relay that was
 * away for more than a week) are moved, because the default may not hold rows of a partition's range. Who logs an attempt
 * meanwhile waits, and at the whole log: at the default partition it would find, after its wait, that its row no longer belongs
 * there, and fail. The outcome of an attempt would go with it, and the attempt be made again.
 *
 * A day with too many such rows gets no partition: its attempts stay in the default, and retention drops them there.
 */
async function makePartition(pool: Pool, day: string): Promise<boolean> {
  const name = `attempts_${day}`;
  const from = `timestamptz '${day} 00:00:00+00'`;
  const to = `${from} + interval '24 hours'`; // a day of the session's time zone may be shorter
  const range = `${STRAY_AGE} >= ${from} and ${STRAY_AGE} < ${to}`;
  return underLock(pool, async (client) => {
    if (await isThere(client, name)) return null; // another relay was quicker
    if (await isMoreThanMoved(client, range)) return null;
    await client.query(`create table ${name} (like attempts including defaults)`);
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

/** Postgres locks the default partition, too: what belongs there changes. */
async function dropPartition(pool: Pool, day: string): Promise<boolean> {
  const name = `attempts_${day}`;
  return underLock(pool, async (client) => {
    if (!(await isThere(client, name))) return null;
    return `
      lock table only attempts in access exclusive mode;
      lock table attempts_default, ${name} in access exclusive mode nowait;
      drop table ${name}`;
  });
}

/** Asks the catalog itself: within a transaction `to_regclass` may answer from a cache older than the lock. */
async function isThere(client: PoolClient, table: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    `select exists (select from pg_class where relnamespace = 'public'::regnamespace and relname = $1) as there`,
    [table],
  );
  return rows[0]?.there === true;
}

/**
 * Runs, if no other relay tends the log now, what `prepare` asks for, in its transaction.
 *
 * What holds the log's lock goes to Postgres in one message, with the commit: a relay that stands still between two
 * statements would keep all workers waiting. Once the log is locked, nothing is waited for (`nowait`).
 *
 * @returns false when another relay tends the log, or `prepare` asks for nothing.
 */
async function underLock(
  pool: Pool,
  prepare: (client: PoolClient) => Promise<string | null>,
): Promise<boolean> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      ATTEMPT_LOG_LOCK,
    ]);
    const statements = rows[0]?.mine === true ? await prepare(client) : null;
    await client.query(statements === null ? 'rollback' : `${statements}; commit`);
    client.release();
    return statements !== null;
  } catch (error) {
    client.release(error instanceof Error ? error : true);
    throw error;
  }
}
