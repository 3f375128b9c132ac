import type { WebhookId } from '@postrider/domain';
import type { Pool, PoolClient } from 'pg';
import { dropPages, forRetention, inBoundedStep, ROWS_PER_STEP } from '../db/bounded-step.ts';

/*
 * Retention adds the number of deleted dead letters to `dead_letters_dropped` of their webhook, in the same
 * transaction. The events may still exist, and a recovery sends them.
 */

/** A webhook, and how many dead letters beyond its limit were deleted. */
export interface SurplusDropped {
  readonly webhookId: WebhookId;
  readonly letters: number;
}

/** Deletes dead letters that are older than `days`. @returns how many. */
export async function dropOldDeadLetters(pool: Pool, days: number): Promise<number> {
  const which = { table: 'dead_letters', age: forRetention('created_at'), rows: ROWS_PER_STEP };
  return dropPages(pool, which, days, dropCounted);
}

/**
 * Deletes the oldest dead letters of each webhook that has more than `max`. One statement reads up to `max`
 * index entries.
 * @returns these webhooks.
 */
export async function dropSurplusDeadLetters(pool: Pool, max: number): Promise<SurplusDropped[]> {
  const dropped: SurplusDropped[] = [];
  for (let next = await nextWebhook(pool, max, ''); next !== null;) {
    const { webhookId, at, id } = next;
    if (id !== null) dropped.push({ webhookId, letters: await dropUpTo(pool, webhookId, [at, id]) });
    next = await nextWebhook(pool, max, webhookId);
  }
  return dropped;
}

interface NextWebhook {
  readonly webhookId: WebhookId;
  /** Time and id of the newest dead letter that has `max` newer ones; null when there is none. */
  readonly at: string | null;
  readonly id: string | null;
}

/** The next webhook with dead letters, by id; null at the end. */
async function nextWebhook(pool: Pool, max: number, after: string): Promise<NextWebhook | null> {
  return inBoundedStep(pool, async (client) => {
    const { rows } = await client.query<NextWebhook>(
      `select w.id as "webhookId", s.created_at::text as at, s.id
       from (select webhook_id as id from dead_letters where webhook_id > $1 order by webhook_id limit 1) w
       left join lateral (
         select d.created_at, d.id
         from dead_letters d
         where d.webhook_id = w.id
         order by d.created_at desc, d.id desc
         offset $2 limit 1
       ) s on true`,
      [after, max],
    );
    return rows[0] ?? null;
  });
}

type Position = readonly [at: string | null, id: string | null];

/** Deletes a webhook's dead letters up to a position. @returns how many. */
async function dropUpTo(pool: Pool, webhookId: WebhookId, upTo: Position): Promise<number> {
  let dropped = 0;
  for (let after: Position | null = ['-infinity', '']; after !== null;) {
    const values: unknown[] = [webhookId, ...after, ...upTo];
    const step = await inBoundedStep(pool, async (client) => {
      const { rows } = await client.query<{ at: string; id: string }>(PAGE, values);
      const deleted = await dropCounted(
        client,
        rows.map(({ id }) => id),
      );
      return { last: rows.at(-1), deleted };
    });
    dropped += step.deleted;
    after = step.last === undefined ? null : [step.last.at, step.last.id];
  }
  return dropped;
}

const PAGE = `
  select id, created_at::text as at from dead_letters
  where webhook_id = $1 and (created_at, id) > ($2::timestamptz, $3) and (created_at, id) <= ($4::timestamptz, $5)
  order by created_at, id limit ${ROWS_PER_STEP}`;

/**
 * Deletes dead letters and counts them at their webhooks. Locked letters are skipped. The webhooks are locked
 * before the letters, in the order of their ids, as in every transaction that locks both. @returns how many.
 */
async function dropCounted(client: PoolClient, ids: readonly string[]): Promise<number> {
  await client.query(LOCK_WEBHOOKS, [ids]);
  const { rows } = await client.query<{ dropped: number }>(DROP, [ids]);
  return rows[0]?.dropped ?? 0;
}

const LOCK_WEBHOOKS = `
  select w.id from webhooks w
  where w.id = any (array(select distinct l.webhook_id from dead_letters l where l.id = any ($1::text[])))
  order by w.id for no key update of w`;

/** The count stops at the largest integer. */
const DROP = `
  with mine as materialized (
    select id from dead_letters where id = any ($1::text[]) order by id for update skip locked
  ),
  gone as (
    delete from dead_letters where id = any (array(select id from mine)) returning webhook_id
  ),
  sums as (
    select webhook_id, count(*) as dropped from gone group by webhook_id
  ),
  counted as (
    update webhooks w
    set dead_letters_dropped = least(
      w.dead_letters_dropped + (select s.dropped from sums s where s.webhook_id = w.id), 2147483647)
    where w.id = any (array(select webhook_id from sums))
  )
  select coalesce(sum(dropped), 0)::int as dropped from sums`;
