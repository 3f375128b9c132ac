import type { WebhookId } from '@postrider/domain';
import type { BenchDatabase } from '../fixture/cluster.ts';
import { EVENT_DATA } from '../fixture/installation.ts';

export interface Backlog {
  readonly count: number;
  /** The earliest and latest due time in seconds from now, evenly spread. Negative: overdue. */
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/**
 * Inserts outstanding deliveries directly, in turn for the webhooks, and then vacuums the table as autovacuum
 * would. All belong to one event, because no figure attempts them.
 */
export async function queueBacklog(
  database: BenchDatabase,
  webhooks: readonly WebhookId[],
  { count, fromSeconds, toSeconds }: Backlog,
): Promise<void> {
  await database.query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_backlog', account_id, 'email.sent', now(), $2 from webhooks where id = $1
     on conflict do nothing`,
    [webhooks[0], EVENT_DATA],
  );
  await database.query(
    `insert into deliveries (event_id, webhook_id, due_at)
     select 'evt_backlog', ($1::text[])[1 + n % cardinality($1::text[])],
            now() + make_interval(secs => $3::float8 + ($4::float8 - $3::float8) * n / $2::int)
     from generate_series(1, $2::int) n`,
    [webhooks, count, fromSeconds, toSeconds],
  );
  await database.query('vacuum (analyze) deliveries');
}
