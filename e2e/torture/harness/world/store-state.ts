import type { StoredAttempt, StoreState } from '../checker/history.ts';
import { nowMs, trueTimeMs } from '../times.ts';
import type { OpenStore } from '../../../open-store.ts';

const MS = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/**
 * Reads all rows that the checker joins, when nothing is outstanding.
 *
 * @param clockOffsetsMs how far from the harness's the clock of Postgres was, at one time or another
 */
export async function readStoreState(
  store: Pick<OpenStore, 'query'>,
  clockOffsetsMs: readonly number[] = [0],
): Promise<StoreState> {
  const endedAtMs = nowMs();
  const read = <Row extends object>(sql: string): Promise<Row[]> =>
    store.query<Row & Record<string, unknown>>(sql);
  return {
    causes: await read('select id, event_id as "eventId" from torture.causes'),
    emails: await read(`select id, subject, status from emails where kind = 'live'`),
    messages: await read(`select id, message_id as header, status from messages where kind = 'live'`),
    events: await read(
      `select id, account_id as "accountId", type, ${MS('created_at')} as "createdAtMs",
              data::json ->> 'email_id' as "emailId",
              case when type like 'message.%' then data::json ->> 'id' end as "messageId"
       from events`,
    ),
    attempts: (
      await read<StoredAttempt>(
        `select delivery_id::text as "deliveryId", event_id as "eventId", webhook_id as "webhookId", attempt,
              ${MS('started_at')} as "startedAtMs", duration_ms as "durationMs", status
       from attempts`,
      )
    ).map((row) => ({ ...row, startedAtMs: trueTimeMs(row.startedAtMs, clockOffsetsMs, endedAtMs) })),
    deadLetters: await read(
      `select event_id as "eventId", webhook_id as "webhookId", last_error as "lastError" from dead_letters`,
    ),
    deliveries: await read('select event_id as "eventId", webhook_id as "webhookId" from deliveries'),
  };
}
