import type { DeadLetterReason } from '@postrider/domain';
import type { Pool } from 'pg';
import { mappingUnavailable } from '../db/errors.ts';

/** The deliveries that are neither done nor given up. Counts of a very large table are estimates, within a few percent. */
export interface Outstanding {
  readonly outstanding: number;
  readonly dueNow: number;
  /** How long the oldest delivery that nobody has in hand has been due; 0 when there is none. */
  readonly oldestDueSeconds: number;
  /**
   * How long the oldest delivery that was never attempted has been due, also while a worker has it; 0 when there is
   * none. Work that every worker leaves to its lease shows here only. Of a very large table it may be told too old.
   */
  readonly oldestFirstAttemptSeconds: number;
}

/** What an operator asks first. */
export interface Backlog extends Outstanding {
  readonly unsentEmails: number;
  readonly deadLetters: Readonly<Record<DeadLetterReason, number>>;
  readonly failingWebhooks: number;
}

interface OutstandingRow {
  readonly outstanding: string;
  readonly due_now: string;
  readonly oldest_due_seconds: number;
  readonly oldest_first_seconds: number;
}

interface RestRow {
  readonly unsent_emails: string;
  readonly exhausted: string;
  readonly rejected: string;
  readonly failing: string;
}

/**
 * Pages of a table that are read to count its rows, 32 MB: some 150,000 deliveries in a few dozen milliseconds. Reading all
 * takes 0.2 s a million, and 4 s by the index; every 15 s, and beyond the statements' limit the gauges would freeze.
 */
const PAGES_READ_MAX = 4_000;

/** @param pagesReadMax of a larger table, counts are told from a sample of about so many pages. */
export async function readOutstanding(pool: Pool, pagesReadMax = PAGES_READ_MAX): Promise<Outstanding> {
  const { pages } = await readOne<{ pages: number }>(pool, PAGES);
  const sampled = pages > pagesReadMax;
  const percent = (100 * pagesReadMax) / pages;
  const row = await readOne<OutstandingRow>(pool, sampled ? SAMPLE : ALL, sampled ? [percent] : []);
  const scale = sampled ? 100 / percent : 1;
  return {
    outstanding: Math.round(Number(row.outstanding) * scale),
    dueNow: Math.round(Number(row.due_now) * scale),
    oldestDueSeconds: row.oldest_due_seconds,
    oldestFirstAttemptSeconds: row.oldest_first_seconds,
  };
}

const PAGES = `select (pg_relation_size('deliveries') / current_setting('block_size')::int)::int as pages`;

const ALL = `
  select count(*) as outstanding,
         count(*) filter (where due_at <= now()) as due_now,
         coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now()
           and (leased_until is null or leased_until <= now()))), 0)::float8 as oldest_due_seconds,
         coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now() and attempts = 0)), 0)::float8
           as oldest_first_seconds
  from deliveries`;

/**
 * The counts are those of the sample. A sample would miss the one delivery that everybody has forgotten: the oldest is
 * looked for by index descents for each webhook with work, three at the most.
 *
 * The oldest that was never attempted is looked for among a webhook's first 32 that are due. Where all of these were
 * attempted before, it is no older than the last of them, which is told in its place.
 *
 * $1 percentage of the pages.
 */
const SAMPLE = `
  with recursive working (webhook_id) as (
    (select webhook_id from deliveries order by webhook_id limit 1)
    union all
    select (select d.webhook_id from deliveries d where d.webhook_id > working.webhook_id order by d.webhook_id limit 1)
    from working
    where working.webhook_id is not null
  )
  select count(*) as outstanding,
         count(*) filter (where due_at <= now()) as due_now,
         (select coalesce(extract(epoch from now() - min(first.due_at)), 0)
          from working
          cross join lateral (
            select d.due_at
            from deliveries d
            where d.webhook_id = working.webhook_id and d.due_at <= now()
              and (d.leased_until is null or d.leased_until <= now())
            order by d.due_at, d.id
            limit 1
          ) first)::float8 as oldest_due_seconds,
         (select coalesce(extract(epoch from now() - min(coalesce(
            (select front.due_at
             from (
               select d.due_at, d.attempts
               from deliveries d
               where d.webhook_id = working.webhook_id and d.due_at <= now()
               order by d.due_at, d.id
               limit 32
             ) front
             where front.attempts = 0
             limit 1),
            (select d.due_at
             from deliveries d
             where d.webhook_id = working.webhook_id and d.due_at <= now()
             order by d.due_at, d.id
             limit 1 offset 31)))), 0)
          from working)::float8 as oldest_first_seconds
  from deliveries tablesample system ($1::float4)`;

/** Counts dead letters as well, which nothing bounds: for an operator's question, not for every few seconds. */
export async function readBacklog(pool: Pool): Promise<Backlog> {
  const row = await readOne<RestRow>(
    pool,
    `select l.*,
            (select count(*) from email_sends) as unsent_emails,
            (select count(*) from webhooks where failing_since is not null) as failing
     from (select count(*) filter (where reason = 'attempts_exhausted') as exhausted,
                  count(*) filter (where reason = 'rejected') as rejected
           from dead_letters) l`,
  );
  return {
    ...(await readOutstanding(pool)),
    unsentEmails: Number(row.unsent_emails),
    deadLetters: { attempts_exhausted: Number(row.exhausted), rejected: Number(row.rejected) },
    failingWebhooks: Number(row.failing),
  };
}

async function readOne<Row extends object>(
  pool: Pool,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row> {
  const { rows } = await mappingUnavailable(() => pool.query<Row>(sql, [...values]));
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}
