import type { WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** Rows counted of a webhook at most, per table. Counting all rows would take seconds after a long outage. */
export const LOAD_COUNTED_MAX = 10_000;
/** The default of this limit. Each row may be on a page of its own: 10 µs each, so some 50 ms. */
const COUNTED_MAX = 5_000;
/** Rows counted for all webhooks of a list together. */
const COUNTED_IN_ALL_MAX = 25_000;
/** The newest attempts of a webhook that are read from the log, because the sums may not have them yet. */
const RECENT_ATTEMPTS = 32;

/** How an endpoint answers, and what waits for it. */
export interface WebhookHealth {
  readonly webhookId: WebhookId;
  /** Null: it does not count as failing. */
  readonly failingSince: Date | null;
  /** Start of the last attempt that a 2xx answered, up to two minutes late. Null: none is known. */
  readonly lastSuccessAt: Date | null;
  /** Start of the last attempt, up to two minutes late. Null: none is known. */
  readonly lastAttemptAt: Date | null;
  /** Of the last attempt that failed, or of a delivery that was refused since. Null: none is known. */
  readonly lastError: string | null;
  /** Counted up to 5,000; for more than five webhooks up to 25,000 in all. */
  readonly outstanding: number;
  /** Null: nothing is due. */
  readonly oldestDueAt: Date | null;
  readonly deadLetters: number;
  /** Dead letters that retention has deleted, since the webhook was made. */
  readonly deadLettersDropped: number;
}

/**
 * The log keeps an error as long as its attempt. A refused delivery made no attempt: its dead letter has the
 * error.
 *
 * $1 webhooks, $2 rows counted at most. Cost per webhook: some index descents, 32 rows of the log, and $2
 * rows of each table that is counted.
 */
const READ = statement('read-webhook-health')`
    select w.id as "webhookId", w.failing_since as "failingSince", w.dead_letters_dropped as "deadLettersDropped",
           greatest(k.last_success_at, recent.success_at) as "lastSuccessAt",
           greatest(k.last_success_at, recent.success_at, k.last_failure_at, recent.failure_at) as "lastAttemptAt",
           (select f.error
            from (
              (select a.started_at as at, a.error from attempts a
               where a.webhook_id = w.id and a.started_at = greatest(k.last_failure_at, recent.failure_at) limit 1)
              union all
              (select l.created_at, l.last_error from dead_letters l
               where l.webhook_id = w.id order by l.created_at desc, l.id desc limit 1)
            ) f
            order by f.at desc limit 1) as "lastError",
           (select count(*)::int from (
              select from deliveries d where d.webhook_id = w.id limit $2) waiting) as outstanding,
           (select d.due_at from deliveries d where d.webhook_id = w.id and d.due_at <= now()
            order by d.due_at limit 1) as "oldestDueAt",
           (select count(*)::int from (
              select from dead_letters g where g.webhook_id = w.id limit $2) given_up) as "deadLetters"
    from unnest($1::text[]) given (id)
    cross join lateral (select * from webhooks e where e.id = given.id offset 0) w
    left join lateral (select * from webhook_health h where h.webhook_id = w.id offset 0) k on true
    cross join lateral (
      select max(r.started_at) filter (where r.status between 200 and 299) as success_at,
             max(r.started_at) filter (where (r.status between 200 and 299) is not true) as failure_at
      from (
        select l.started_at, l.status from attempts l
        where l.webhook_id = w.id and l.started_at <= now()
          and l.started_at >= coalesce((select settled_until from attempt_sums), now() - interval '1 day')
        order by l.started_at desc limit ${String(RECENT_ATTEMPTS)}
      ) r
    ) recent`;

/** Rows to count of each webhook, per table, when a page shows this many. So the page answers in time. */
export function countedMaxPerWebhook(webhooks: number): number {
  return Math.min(LOAD_COUNTED_MAX, Math.ceil(COUNTED_IN_ALL_MAX / webhooks));
}

/**
 * @param countedMax rows of a webhook that are counted per table.
 * @returns the health of each webhook. A missing webhook has no entry.
 */
export async function readWebhookHealth(
  { pool }: Pick<Database, 'pool'>,
  ids: readonly WebhookId[],
  countedMax = Math.min(COUNTED_MAX, countedMaxPerWebhook(ids.length)),
): Promise<ReadonlyMap<WebhookId, WebhookHealth>> {
  const healths = await runOn<WebhookHealth>(pool, READ, [ids, countedMax]);
  return new Map(healths.map((health) => [health.webhookId, health]));
}
