import type { WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/**
 * The count looks at this many of a webhook's oldest rows. The relay leases the oldest rows first, so the
 * rows in flight are among them.
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
