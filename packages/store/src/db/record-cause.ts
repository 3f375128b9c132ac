import type { WebhookId } from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { mappingUnavailable } from './errors.ts';
import { inTransaction } from './pool.ts';
import { eventValues } from './sql/event-ctes.ts';
import type { EventsOfCause } from './sql/event-ctes.ts';
import type { Queryable, Statement } from './statement.ts';

/** What a statement that holds `eventCtes` returns: the webhooks that got deliveries. */
interface Told {
  readonly webhooks: readonly WebhookId[];
}

type TellingDatabase = Pick<Database, 'pool' | 'wakeUps'>;

/**
 * Runs the one statement of a cause that holds `eventCtes`: cause, events and deliveries are written, or nothing. Once it
 * has committed, the relay is woken for the webhooks that got deliveries.
 *
 * @param values the cause's own, from $7 on.
 * @returns the statement's row, if it gives one.
 * @throws StoreUnavailableError when Postgres cannot be reached; whether it had committed is then unknown.
 */
export async function recordCause<Row extends object>(
  db: TellingDatabase,
  statement: Statement,
  events: EventsOfCause,
  values: readonly unknown[],
): Promise<Row | undefined> {
  const [row] = await runOn<Row & Told>(db.pool, statement, [...eventValues(events), ...values]);
  wake(db, row);
  return row;
}

/**
 * The same for a cause that must see what the holder of a lock has committed. A statement's snapshot is older
 * than its locks, so these are two statements in one transaction: the locks, then the cause with its events.
 *
 * @param work runs them. @returns the row of the second; none where there is no cause.
 */
export async function recordBehindLocks<Row extends Told | undefined>(
  db: TellingDatabase,
  work: (client: Queryable) => Promise<Row>,
): Promise<Row> {
  const row = await mappingUnavailable(() => inTransaction(db.pool, work));
  wake(db, row);
  return row;
}

function wake({ wakeUps }: TellingDatabase, told: Told | undefined): void {
  if (told !== undefined && told.webhooks.length > 0) {
    wakeUps.send({ webhooks: told.webhooks, mail: false });
  }
}
