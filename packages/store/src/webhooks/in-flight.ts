import type { WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** Rows counted per webhook and table. A count of all would take seconds after a long outage. */
export const LOAD_COUNTED_MAX = 10_000;

/** What waits at a webhook. Counts end at a maximum. */
export interface WebhookLoad {
  readonly webhookId: WebhookId;
  readonly outstanding: number;
  /** Null: nothing is due. */
  readonly oldestDueAt: Date | null;
  readonly deadLetters: number;
}

/** $1 webhooks, $2 rows counted at most. Cost: an index scan of $2 rows per webhook and table. */
const READ = statement('read-webhook-loads')`
    select w.id as "webhookId",
           (select count(*)::int from (
              select from deliveries d where d.webhook_id = w.id limit $2) counted) as outstanding,
           (select d.due_at from deliveries d where d.webhook_id = w.id and d.due_at <= now()
            order by d.due_at limit 1) as "oldestDueAt",
           (select count(*)::int from (
              select from dead_letters l where l.webhook_id = w.id limit $2) counted) as "deadLetters"
    from unnest($1::text[]) w (id)`;

/** @returns the load of each webhook. A webhook that is missing has none. */
export async function readWebhookLoads(
  { pool }: { readonly pool: Pool },
  ids: readonly WebhookId[],
  countedMax = LOAD_COUNTED_MAX,
): Promise<ReadonlyMap<WebhookId, WebhookLoad>> {
  const loads = await runOn<WebhookLoad>(pool, READ, [ids, countedMax]);
  return new Map(loads.map((load) => [load.webhookId, load]));
}

/**
 * The rows of a webhook that are looked at for those in flight. Only its oldest rows are leased, so these
 * come first.
 */
export const IN_FLIGHT_COUNTED_MAX = 1_000;

/** $1 webhook, $2 rows looked at. Cost: an index scan of $2 rows. */
const READ_IN_FLIGHT = statement('read-in-flight')`
    select (count(*) filter (where o.taken_at <= now() and o.leased_until > now()))::int as "inFlight"
    from (
      select d.taken_at, d.leased_until from deliveries d
      where d.webhook_id = $1 and d.due_at <= now()
      order by d.due_at limit $2
    ) o`;

/** The attempts of a webhook that run now. */
export async function readInFlight({ pool }: { readonly pool: Pool }, id: WebhookId): Promise<number> {
  const [row] = await runOn<{ inFlight: number }>(pool, READ_IN_FLIGHT, [id, IN_FLIGHT_COUNTED_MAX]);
  return row?.inFlight ?? 0;
}
