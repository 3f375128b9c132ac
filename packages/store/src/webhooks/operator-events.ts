import type { EventId, OperatorEvent } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { run, statement } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';

const KEEP = statement('keep-operator-events')`
    insert into operator_events (id, type, body) select * from unnest($1::text[], $2::text[], $3::text[])`;

/**
 * Claims due events for one attempt each. A claim lasts $2 seconds. Then the event is due again, because the
 * relay may have died. $1 rows at most.
 */
const CLAIM = statement('claim-operator-events')`
    update operator_events o
    set attempts = o.attempts + 1, due_at = now() + make_interval(secs => $2::float8)
    where o.id = any (array(
      select d.id from operator_events d where d.due_at <= now() order by d.due_at limit $1 for update skip locked))
    returning o.id, o.type, o.body, o.attempts`;

const RETRY = statement('retry-operator-event')`
    update operator_events set due_at = now() + make_interval(secs => $2::float8) where id = $1`;

const DROP = statement('drop-operator-event')`delete from operator_events where id = $1`;

export interface ClaimedOperatorEvent extends OperatorEvent {
  /** Attempts begun so far, this one included. */
  readonly attempts: number;
}

export type OperatorEventStore = ReturnType<typeof createOperatorEventStore>;

/** @param pool its commits need not be durable: after a crash, a dropped event may be posted again. */
export function createOperatorEventStore(pool: Pool) {
  return {
    async claim(rowsMax: number, leaseSeconds: number): Promise<ClaimedOperatorEvent[]> {
      return runOn<ClaimedOperatorEvent>(pool, CLAIM, [rowsMax, leaseSeconds]);
    },
    async retry(id: EventId, delaySeconds: number): Promise<void> {
      await runOn(pool, RETRY, [id, delaySeconds]);
    },
    /** Ends an event: its endpoint has it, or Postrider gives it up. */
    async drop(id: EventId): Promise<void> {
      await runOn(pool, DROP, [id]);
    },
  };
}

/** Stores events in the caller's transaction. */
export async function keepOperatorEvents(client: Queryable, events: readonly OperatorEvent[]): Promise<void> {
  if (events.length === 0) return;
  await run(client, KEEP, [
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ body }) => body),
  ]);
}
