import { keyOf } from '../checker/history.ts';
import type { DeliveryKey, Receipt } from '../checker/history.ts';
import { nowMs } from '../times.ts';
import type { OpenStore } from '../../../open-store.ts';

interface Row {
  readonly eventId: string;
  readonly webhookId: string;
  readonly taken: boolean;
  /** The number of recorded attempts. */
  readonly attempts: number;
}

/**
 * True for a row that a worker took at least $1 milliseconds ago. It compares ages, because Postgres' clock
 * may be off.
 */
const TAKEN = `taken_at <= now() - $1 * interval '1 ms' and leased_until > now()`;

/**
 * The attempts that had begun at a time and are not recorded, each with the number of recorded ones. A worker
 * has taken the delivery, or the endpoint has seen more requests than the log has attempts. A crash of
 * Postgres may undo a lease. Then only the requests at the endpoint show the attempt.
 */
export async function readInFlight(
  store: Pick<OpenStore, 'query'>,
  receipts: readonly Receipt[],
  begunByMs = nowMs(),
): Promise<{ readonly key: DeliveryKey; readonly attempts: number }[]> {
  const rows = await store.query<Row & Record<string, unknown>>(
    `select d.event_id as "eventId", d.webhook_id as "webhookId",
            coalesce(${TAKEN}, false) as taken,
            (select count(*)::int from attempts a
             where a.event_id = d.event_id and a.webhook_id = d.webhook_id) as attempts
     from deliveries d
     where d.taken_at is not null or d.webhook_id = any ($2)`,
    // Only webhooks with requests: other rows may be a million.
    [nowMs() - begunByMs, [...new Set(receipts.map(({ webhookId }) => webhookId))]],
  );
  const seen = new Map<DeliveryKey, number>();
  for (const receipt of receipts) {
    if (receipt.arrivedAtMs <= begunByMs) seen.set(keyOf(receipt), (seen.get(keyOf(receipt)) ?? 0) + 1);
  }
  return rows
    .filter((row) => row.taken || (seen.get(keyOf(row)) ?? 0) > row.attempts)
    .map((row) => ({ key: keyOf(row), attempts: row.attempts }));
}

/** The ids of the messages that a worker had taken by then, and that have no recorded outcome. */
export async function readMailInFlight(
  store: Pick<OpenStore, 'query'>,
  begunByMs: number,
): Promise<string[]> {
  const rows = await store.query<{ id: string }>(`select email_id as id from email_sends where ${TAKEN}`, [
    nowMs() - begunByMs,
  ]);
  return rows.map(({ id }) => id);
}
