import type { AccountId, DeadLetterReason, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { queryOn, runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/**
 * Deliveries that are neither done nor given up. In a very large table the counts are estimates. While the
 * table's pages are full, the estimates are right within a few percent. After a large backlog, few pages have
 * rows: then the estimates may be far off.
 */
export interface Outstanding {
  readonly outstanding: number;
  readonly dueNow: number;
  /** Time since the oldest delivery that is not leased was due; 0 when there is none. */
  readonly oldestDueSeconds: number;
  /**
   * Time since the oldest delivery that was never attempted was due, leased or not; 0 when there is none.
   * Only this figure shows work that every worker leaves until its lease expires. In a very large table it
   * may be too high.
   */
  readonly oldestFirstAttemptSeconds: number;
}

/** The figures that an operator asks for first. */
export interface Backlog extends Outstanding {
  readonly unsentEmails: number;
  readonly failingWebhooks: number;
}

export type DeadLetterCounts = Readonly<Record<DeadLetterReason, number>>;

/**
 * At most 32 MB of the table are read to count its rows: about 150,000 deliveries, in a few dozen
 * milliseconds. A count of all rows takes 0.2 s per million, or 4 s by the index. The relay counts every
 * 15 s. If a count took longer than the statement timeout, the gauges would freeze.
 */
const PAGES_READ_MAX = 4_000;

/** @param pagesReadMax in a larger table, the counts are estimated from a sample of about this many pages. */
export async function readOutstanding(pool: Pool, pagesReadMax = PAGES_READ_MAX): Promise<Outstanding> {
  const { pages } = await readOne<{ pages: number }>(pool, PAGES);
  const sampled = pages > pagesReadMax;
  const percent = (100 * pagesReadMax) / pages;
  const row = await readOne<Outstanding>(pool, sampled ? SAMPLE : ALL, sampled ? [percent] : []);
  const scale = sampled ? 100 / percent : 1;
  return {
    ...row,
    outstanding: Math.round(row.outstanding * scale),
    dueNow: Math.round(row.dueNow * scale),
  };
}

/**
 * The account's deliveries that are neither done nor given up. The account of each sampled webhook is looked
 * up once. An array of the account's webhooks would cost more: Postgres would compare it with each delivery.
 * `greatest(account_id, '')` is the account, in a form that no index by account serves: so the look-up stays
 * on the index by id.
 *
 * @param pagesReadMax as for `readOutstanding`.
 */
export async function outstandingOf(
  pool: Pool,
  accountId: AccountId,
  pagesReadMax = PAGES_READ_MAX,
): Promise<number> {
  const { pages } = await readOne<{ pages: number }>(pool, PAGES);
  const percent = Math.min(100, (100 * pagesReadMax) / pages);
  const { found } = await readOne<{ found: number }>(
    pool,
    `select coalesce(sum(x.found), 0)::float8 as found
     from (
       select count(*) as found from deliveries d tablesample system ($2::float4)
       group by d.webhook_id
       having (select true from webhooks w where w.id = d.webhook_id and greatest(w.account_id, '') = $1) is not null
     ) x`,
    [accountId, percent],
  );
  return Math.round((found * 100) / percent);
}

/** A webhook with an event that waits for its first attempt. */
export interface LateWebhook {
  readonly webhookId: WebhookId;
  readonly endpoint: string;
  /** Time since the event was due. */
  readonly seconds: number;
}

/**
 * Finds the webhooks where an event has waited this long for its first attempt. The longest wait comes first.
 * A failing webhook is left out: its retries go first.
 */
export async function readLateWebhooks(pool: Pool, seconds: number, limit: number): Promise<LateWebhook[]> {
  return runOn<LateWebhook>(pool, LATE_WEBHOOKS, [seconds, limit]);
}

const PAGES = `select (pg_relation_size('deliveries') / current_setting('block_size')::int)::int as pages`;

const ALL = `
  select count(*)::float8 as outstanding,
         (count(*) filter (where due_at <= now()))::float8 as "dueNow",
         coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now()
           and (leased_until is null or leased_until <= now()))), 0)::float8 as "oldestDueSeconds",
         coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now() and attempts = 0)), 0)::float8
           as "oldestFirstAttemptSeconds"
  from deliveries`;

/** The webhooks with outstanding deliveries, by an index descent for each. The last row is null. */
const WORKING = `
  with recursive working (webhook_id) as (
    (select webhook_id from deliveries order by webhook_id limit 1)
    union all
    select (select d.webhook_id from deliveries d where d.webhook_id > working.webhook_id order by d.webhook_id limit 1)
    from working
    where working.webhook_id is not null
  )`;

/**
 * Reads each webhook's oldest 32 deliveries. If all of these were attempted, later ones are missed.
 *
 * $1 seconds, $2 webhooks. Cost: two index descents and 32 rows for each webhook with outstanding deliveries.
 * `offset 0` makes Postgres look each webhook up by its id (decision 0012).
 */
const LATE_WEBHOOKS = statement('read-late-webhooks')`${WORKING}
  select w.id as "webhookId", w.endpoint, extract(epoch from now() - late.due_at)::float8 as seconds
  from working
  cross join lateral (
    select * from webhooks h where h.id = working.webhook_id and h.failing_since is null and h.removed_at is null offset 0
  ) w
  cross join lateral (
    select oldest.due_at
    from (
      select d.due_at, d.attempts
      from deliveries d
      where d.webhook_id = w.id and d.due_at < now() - make_interval(secs => $1)
      order by d.due_at
      limit 32
    ) oldest
    where oldest.attempts = 0
    order by oldest.due_at
    limit 1
  ) late
  order by late.due_at
  limit $2`;

/**
 * The counts are those of the sample. A sample would miss a single forgotten delivery. Therefore index
 * descents find the oldest, at most three for each webhook with outstanding deliveries.
 *
 * The oldest delivery without an attempt is searched among each webhook's first 32 that are due. If all of
 * these were attempted, the statement reports the 32nd row's age; the true age is not higher.
 *
 * $1 percentage of the pages.
 */
const SAMPLE = `${WORKING}
  select count(*)::float8 as outstanding,
         (count(*) filter (where due_at <= now()))::float8 as "dueNow",
         (select coalesce(extract(epoch from now() - min(first.due_at)), 0)
          from working
          cross join lateral (
            select d.due_at
            from deliveries d
            where d.webhook_id = working.webhook_id and d.due_at <= now()
              and (d.leased_until is null or d.leased_until <= now())
            order by d.due_at
            limit 1
          ) first)::float8 as "oldestDueSeconds",
         (select coalesce(extract(epoch from now() - min(coalesce(
            (select oldest.due_at
             from (
               select d.due_at, d.attempts
               from deliveries d
               where d.webhook_id = working.webhook_id and d.due_at <= now()
               order by d.due_at
               limit 32
             ) oldest
             where oldest.attempts = 0
             limit 1),
            (select d.due_at
             from deliveries d
             where d.webhook_id = working.webhook_id and d.due_at <= now()
             order by d.due_at
             limit 1 offset 31)))), 0)
          from working)::float8 as "oldestFirstAttemptSeconds"
  from deliveries tablesample system ($1::float4)`;

export async function readBacklog(pool: Pool): Promise<Backlog> {
  const outstanding = await readOutstanding(pool);
  const rest = await readOne<Omit<Backlog, keyof Outstanding>>(
    pool,
    `select (select count(*) from email_sends)::float8 as "unsentEmails",
            (select count(*) from webhooks where failing_since is not null and removed_at is null)::float8 as "failingWebhooks"`,
  );
  return { ...outstanding, ...rest };
}

/** Nothing bounds the number of dead letters: call this for an operator, not every few seconds. */
export async function countDeadLetters(pool: Pool): Promise<DeadLetterCounts> {
  return readOne(
    pool,
    `select (count(*) filter (where reason = 'attempts_exhausted'))::float8 as attempts_exhausted,
            (count(*) filter (where reason = 'rejected'))::float8 as rejected
     from dead_letters`,
  );
}

async function readOne<Row extends object>(
  pool: Pool,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row> {
  const { rows } = await queryOn<Row>(pool, sql, values);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}
