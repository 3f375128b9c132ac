import type { WebhookId } from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { inTransaction } from './pool.ts';
import { eventValues } from './sql/event-ctes.ts';
import type { EventsOfCause } from './sql/event-ctes.ts';
import type { Queryable, Statement } from './statement.ts';

/** The row of a statement that includes `eventCtes`: the webhooks that got deliveries. */
interface WokenWebhooks {
  readonly webhooks: readonly WebhookId[];
}

type WakingDatabase = Pick<Database, 'pool' | 'wakeUps'>;

/**
 * Runs a cause that is one statement and includes `eventCtes`. Cause, events and deliveries are written
 * together, or not at all. After the commit, the relay is woken for the webhooks that got deliveries.
 *
 * @param values the values of the cause itself, from $7 on.
 * @returns the row of the statement, if it returns one.
 * @throws StoreUnavailableError when Postgres cannot be reached; the statement may have committed.
 */
export async function recordCause<Row extends object>(
  db: WakingDatabase,
  statement: Statement,
  events: EventsOfCause,
  values: readonly unknown[],
): Promise<Row | undefined> {
  const [row] = await runOn<Row & WokenWebhooks>(db.pool, statement, [...eventValues(events), ...values]);
  wake(db, row);
  return row;
}

/**
 * Runs a cause that must see what earlier holders of a lock have committed. The snapshot of a statement is
 * older than its locks. So these are two statements in one transaction: the locks, then the cause with its
 * events.
 *
 * @param work runs both statements, and returns the row of the second; undefined when there is no cause.
 */
export async function recordBehindLocks<Row extends WokenWebhooks | undefined>(
  db: WakingDatabase,
  work: (client: Queryable) => Promise<Row>,
): Promise<Row> {
  const row = await inTransaction(db.pool, work);
  wake(db, row);
  return row;
}

function wake({ wakeUps }: WakingDatabase, row: WokenWebhooks | undefined): void {
  if (row !== undefined && row.webhooks.length > 0) {
    wakeUps.send({ webhooks: row.webhooks, mail: false });
  }
}
