import type { WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { dropAged, forRetention, inSoleStep, ROWS_PER_STEP } from '../db/bounded-step.ts';
import type { Chore } from '../db/bounded-step.ts';

const SURPLUS: Chore = 'surplus dead letters';

/** A webhook, and how many dead letters beyond its limit were deleted. */
export interface SurplusDropped {
  readonly webhookId: WebhookId;
  readonly letters: number;
}

/** Deletes dead letters that are older than `days`. @returns how many. */
export async function dropOldDeadLetters(pool: Pool, days: number): Promise<number> {
  const kept = `make_interval(days => ${days})`;
  return dropAged(pool, 'old dead letters', { table: 'dead_letters', age: forRetention('created_at'), kept });
}

/**
 * Deletes the oldest dead letters of each webhook that has more than `max`. One statement reads up to `max`
 * index entries.
 * @returns these webhooks.
 */
export async function dropSurplusDeadLetters(pool: Pool, max: number): Promise<SurplusDropped[]> {
  const dropped: SurplusDropped[] = [];
  for (let next = await findSurplus(pool, max, ''); next !== null;) {
    const { webhookId, at, id } = next;
    if (id !== null) dropped.push({ webhookId, letters: await dropUpTo(pool, webhookId, [at, id]) });
    next = await findSurplus(pool, max, webhookId);
  }
  return dropped;
}

interface Counted {
  readonly webhookId: WebhookId;
  /** Time and id of the newest dead letter that has `max` newer ones; null when there is none. */
  readonly at: string | null;
  readonly id: string | null;
}

/** The next webhook with dead letters, by id; null at the end, and when another relay counts now. */
async function findSurplus(pool: Pool, max: number, after: string): Promise<Counted | null> {
  return inSoleStep(pool, SURPLUS, async (client) => {
    const { rows } = await client.query<Counted>(
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

/** Deletes a webhook's dead letters up to a position. Locked rows are skipped. @returns how many. */
async function dropUpTo(pool: Pool, webhookId: WebhookId, upTo: Position): Promise<number> {
  let dropped = 0;
  for (let after: Position | null = ['-infinity', '']; after !== null;) {
    const values: unknown[] = [webhookId, ...after, ...upTo];
    const step = await inSoleStep(pool, SURPLUS, async (client) => {
      const { rows } = await client.query<{ at: string | null; id: string | null; ended: number }>(
        DROP,
        values,
      );
      return rows[0] ?? null;
    });
    dropped += step?.ended ?? 0;
    after = step === null || step.id === null ? null : [step.at, step.id];
  }
  return dropped;
}

const DROP = `
  with page as materialized (
    select id, created_at from dead_letters
    where webhook_id = $1 and (created_at, id) > ($2::timestamptz, $3) and (created_at, id) <= ($4::timestamptz, $5)
    order by created_at, id limit ${ROWS_PER_STEP}
  ),
  mine as materialized (
    select id from dead_letters where id = any (array(select id from page)) order by id for update skip locked
  ),
  gone as (
    delete from dead_letters where id = any (array(select id from mine)) returning 1
  ),
  final as (
    select id, created_at from page order by created_at desc, id desc limit 1
  )
  select (select created_at::text from final) as at, (select id from final) as id,
         (select count(*)::int from gone) as ended`;
