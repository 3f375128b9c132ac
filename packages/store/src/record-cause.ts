import type { WebhookId } from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { eventValues } from './sql/event-ctes.ts';
import type { EventsOfCause } from './sql/event-ctes.ts';
import type { Statement } from './statement.ts';

/**
 * Runs the one statement of a cause that holds `eventCtes`: cause, events and deliveries are written, or nothing. Once it
 * has committed, the relay is woken for the webhooks that got deliveries.
 *
 * @param values the cause's own, from $7 on.
 * @returns the statement's row, if it gives one.
 * @throws StoreUnavailableError when Postgres cannot be reached; whether it had committed is then unknown.
 */
export async function recordCause<Row extends object>(
  { pool, wakeUps }: Pick<Database, 'pool' | 'wakeUps'>,
  statement: Statement,
  events: EventsOfCause,
  values: readonly unknown[],
): Promise<Row | undefined> {
  type Told = Row & { readonly webhooks: readonly WebhookId[] };
  const [row] = await runOn<Told>(pool, statement, [...eventValues(events), ...values]);
  if (row !== undefined && row.webhooks.length > 0) wakeUps.send({ webhooks: row.webhooks, mail: false });
  return row;
}
