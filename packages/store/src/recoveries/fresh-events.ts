import { EVENT_TYPES } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import { hasPosition } from '../events/sql/list-events.ts';
import { sinceEvent } from '../events/sql/webhook-events.ts';

/** Events of each span that are read, the newest first, for one p95. */
const EVENTS_MAX = 100;

/** How long events waited for their first attempt at a webhook. */
export interface FirstAttempts {
  /** The number of events that were counted: the newest, at most 100. */
  readonly events: number;
  /** The number of these events that still wait. They count with the time that they have waited so far. */
  readonly waiting: number;
  /** From the time of the event to the start of its first attempt. 95 of 100 events waited no longer. */
  readonly p95Ms: number;
}

/** The events since the start of a recovery, and those before. Null: the webhook got no event in the span. */
export interface FreshEvents {
  readonly since: FirstAttempts | null;
  readonly before: FirstAttempts | null;
}

/**
 * Compares the events that a webhook got since a time with those before it. A recovery has only older events,
 * so what it queues counts neither as fresh nor as waiting.
 *
 * $1 account, $2 webhook, $3 the time, $4 all types of events, $5 maximum number of events of a span.
 * Positions follow times only roughly, so some events found for one span may belong to the other: they are
 * left out. `greatest(webhook_id, '')` is written as in the indexes by event and webhook. Cost: $5 index
 * entries for each type and span, and the rows of $5 events for each span.
 */
const READ = statement('read-fresh-events')`
    with began as materialized (
      select coalesce(
        (select e.position from events e where e.created_at >= $3::timestamptz order by e.created_at limit 1),
        9223372036854775807) as position
    ),
    newest as materialized (
      select span.is_since, n.id, n.created_at
      from began
      cross join lateral (
        values (true, began.position, 9223372036854775807), (false, 0, began.position - 1)
      ) span (is_since, first, last)
      cross join lateral (
        select e.id, e.created_at
        from unnest(coalesce(
          (select nullif(w.events, '{}') from webhooks w where w.id = $2 and w.account_id = $1), $4::text[])) t (type)
        cross join lateral (
          select o.id, o.created_at, o.position from events o
          where o.account_id = $1 and o.type = t.type and ${hasPosition('o')}
            and o.position between span.first and span.last
          order by o.position desc limit $5
        ) e
        order by e.position desc limit $5
      ) n
      where (n.created_at >= $3::timestamptz) = span.is_since
    )
    select e.is_since as "isSince", count(*)::int as events,
           (count(*) filter (where w.first_at is null))::int as waiting,
           percentile_disc(0.95) within group (
             order by greatest(0, extract(epoch from coalesce(w.first_at, now()) - e.created_at) * 1000)::float8
           ) as "p95Ms"
    from newest e
    cross join lateral (
      select (select min(a.started_at) from attempts a
              where a.event_id = e.id and greatest(a.webhook_id, '') = $2
                and ${sinceEvent('e.created_at')}) as first_at,
             exists (select from deliveries d where d.event_id = e.id and greatest(d.webhook_id, '') = $2) as outstanding
    ) w
    where w.first_at is not null or e.is_since and w.outstanding
    group by e.is_since`;

/** @param at the start of a recovery of the webhook */
export async function readFreshEvents(
  { pool }: { readonly pool: Pool },
  {
    accountId,
    webhookId,
    at,
  }: { readonly accountId: AccountId; readonly webhookId: WebhookId; readonly at: Date },
): Promise<FreshEvents> {
  const values = [accountId, webhookId, at.toISOString(), EVENT_TYPES, EVENTS_MAX];
  const rows = await runOn<FirstAttempts & { readonly isSince: boolean }>(pool, READ, values);
  return {
    since: firstAttemptsOf(rows.find(({ isSince }) => isSince)),
    before: firstAttemptsOf(rows.find(({ isSince }) => !isSince)),
  };
}

function firstAttemptsOf(row: FirstAttempts | undefined): FirstAttempts | null {
  return row === undefined ? null : { events: row.events, waiting: row.waiting, p95Ms: row.p95Ms };
}
