import type { Pool, PoolClient } from 'pg';
import { mappingUnavailable } from './errors.ts';
import { dropExpired } from './expired-records.ts';
import { inTransaction } from './pool.ts';
import { finishRemovals } from './remove-webhook.ts';
import type { Removals } from './remove-webhook.ts';

export interface Retention {
  readonly eventDays: number;
  readonly attemptDays: number;
}

export interface Housekeeping {
  /** Makes the coming days' partitions of the attempt log and drops those past their days. */
  tendAttemptLog(attemptDays: number): Promise<{ made: string[]; dropped: string[] }>;
  /** Drops events past their days that have no outstanding delivery. @returns how many. */
  dropOldEvents(eventDays: number): Promise<number>;
  /** Drops remembered answers and notifications whose time is over. @returns how many. */
  dropExpired(): Promise<number>;
  /** Goes on with removals that a DELETE has left behind; one that fails keeps no other from being finished. */
  finishRemovals(): Promise<Removals>;
}

/** Partitions stand ready this many days ahead, so that a relay may be away for a week. */
const DAYS_AHEAD = 7;
/** Events for which all deliveries are read once: nothing else leads from an event to them, half a second for a million. */
const EVENTS_PER_LOOK = 50_000;
const EVENTS_PER_BATCH = 1_000;
/** One relay tends at a time; the others find the lock taken and let it be. */
const HOUSEKEEPING_LOCK = 72707370;

export function createHousekeeping(pool: Pool): Housekeeping {
  return {
    tendAttemptLog: (attemptDays) => mappingUnavailable(() => tendAttemptLog(pool, attemptDays)),
    dropOldEvents: (eventDays) => mappingUnavailable(() => dropOldEvents(pool, eventDays)),
    dropExpired: () => dropExpired(pool),
    finishRemovals: () => finishRemovals(pool),
  };
}

async function tendAttemptLog(
  pool: Pool,
  attemptDays: number,
): Promise<{ made: string[]; dropped: string[] }> {
  const { rows } = await pool.query<{ day: string; exists: boolean; past: boolean }>(
    `with days as (
       select to_char(d, 'YYYYMMDD') as day
       from generate_series(date_trunc('day', now() at time zone 'utc'),
                            date_trunc('day', now() at time zone 'utc') + make_interval(days => $1), '1 day') d
     ),
     partitions as (
       select substr(c.relname, 10) as day
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'attempts'::regclass and c.relname ~ '^attempts_[0-9]{8}$'
     )
     select coalesce(d.day, p.day) as day, p.day is not null as exists,
            p.day is not null
              and p.day < to_char((now() at time zone 'utc') - make_interval(days => $2), 'YYYYMMDD') as past
     from days d full join partitions p on p.day = d.day
     order by 1`,
    [DAYS_AHEAD, attemptDays],
  );
  // Of days on which no relay was there to make a partition.
  await pool.query('delete from attempts_default where started_at < now() - make_interval(days => $1 + 1)', [
    attemptDays,
  ]);
  const made: string[] = [];
  const dropped: string[] = [];
  for (const { day, exists, past } of rows) {
    if (past && (await dropPartition(pool, day))) dropped.push(day);
    if (!exists && (await makePartition(pool, day))) made.push(day);
  }
  return { made, dropped };
}

/**
 * Attaches a partition for one day. Rows of that day that already went to the default partition (a relay that was
 * away for more than a week) are moved, because the default may not hold rows of a partition's range. Who logs an attempt
 * meanwhile waits, and at the whole log: at the default partition it would find, after its wait, that its row no longer belongs
 * there, and fail. The outcome of an attempt would go with it, and the attempt be made again.
 */
async function makePartition(pool: Pool, day: string): Promise<boolean> {
  return underLock(pool, async (client) => {
    const name = `attempts_${day}`;
    if (await isThere(client, name)) return false; // another relay was quicker
    const from = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)} 00:00:00+00`;
    const range = `started_at >= '${from}'::timestamptz and started_at < '${from}'::timestamptz + interval '1 day'`;
    await client.query(`create table ${name} (like attempts including defaults)`);
    await client.query('lock table only attempts in share row exclusive mode');
    await client.query(`with moved as (delete from attempts_default where ${range} returning *)
                        insert into ${name} select * from moved`);
    await client.query(`alter table attempts attach partition ${name}
                        for values from ('${from}') to ('${nextDay(from)}')`);
    return true;
  });
}

async function dropPartition(pool: Pool, day: string): Promise<boolean> {
  return underLock(pool, async (client) => {
    if (!(await isThere(client, `attempts_${day}`))) return false;
    await client.query(`drop table attempts_${day}`);
    return true;
  });
}

async function isThere(client: PoolClient, table: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
    table,
  ]);
  return rows[0]?.there === true;
}

function nextDay(from: string): string {
  const next = new Date(Date.parse(from.replace(' ', 'T').replace('+00', 'Z')) + 24 * 60 * 60 * 1000);
  return `${next.toISOString().slice(0, 10)} 00:00:00+00`;
}

/**
 * Runs `work` in a transaction if no other relay tends now; a waiting lock gives way to the deliveries.
 *
 * @returns what `work` does, or false.
 */
async function underLock(pool: Pool, work: (client: PoolClient) => Promise<boolean>): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query("set local lock_timeout = '2s'");
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      HOUSEKEEPING_LOCK,
    ]);
    return rows[0]?.mine === true && work(client);
  });
}

/** An event past its days that no delivery needed when it was looked at, as it was then. */
interface PastEvent {
  readonly id: string;
  readonly version: string;
}

async function dropOldEvents(pool: Pool, eventDays: number): Promise<number> {
  let dropped = 0;
  let after = '';
  for (;;) {
    const { last, past } = await findPastEvents(pool, eventDays, after);
    for (let start = 0; start < past.length; start += EVENTS_PER_BATCH) {
      dropped += await dropUnchanged(pool, past.slice(start, start + EVENTS_PER_BATCH));
    }
    if (last === null) return dropped;
    after = last;
  }
}

/** The next events after `after` that are past their days. @returns the last of them, and those that can be dropped. */
async function findPastEvents(
  pool: Pool,
  eventDays: number,
  after: string,
): Promise<{ last: string | null; past: PastEvent[] }> {
  const { rows } = await pool.query<{ last: string | null; id: string | null; version: string | null }>(
    `with old as materialized (
       select id, xmin::text as version from events
       where created_at < now() - make_interval(days => $1) and id > $2
       order by id limit $3
     ),
     free as (
       select id, version from old where not exists (select from deliveries d where d.event_id = old.id)
     )
     select l.last, free.id, free.version
     from (select max(id) as last from old) l left join free on true`,
    [eventDays, after, EVENTS_PER_LOOK],
  );
  const past = rows.flatMap(({ id, version }) => (id === null || version === null ? [] : [{ id, version }]));
  return { last: rows[0]?.last ?? null, past };
}

/**
 * Two steps in a transaction: lock the batch, then drop, with a fresh snapshot, what is as it was. An old event gets a new
 * delivery by a replay only, and that writes the event, too: a replay since the look has made another version of it; one
 * that is under way holds its row (it is skipped), or waits for this commit and writes the event anew.
 */
async function dropUnchanged(pool: Pool, events: readonly PastEvent[]): Promise<number> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      'select id from events where id = any ($1::text[]) order by id for update skip locked',
      [events.map(({ id }) => id)],
    );
    const locked = new Set(rows.map(({ id }) => id));
    const mine = events.filter(({ id }) => locked.has(id));
    const { rowCount } = await client.query(
      `delete from events e using unnest($1::text[], $2::text[]) old (id, version)
       where e.id = old.id and e.xmin::text = old.version`,
      [mine.map(({ id }) => id), mine.map(({ version }) => version)],
    );
    return rowCount ?? 0;
  });
}
