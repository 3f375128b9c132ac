import { ruleOfSubject } from '@postrider/domain';
import type { DeadLetterId, EventId, RoutingRuleId, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { findFates } from './sql/event-story.ts';
import type { DELIVERY_FATES, WebhookEventStatus } from './webhook-events.ts';

/** What became of an event at a webhook, for support. */
export const FATES = [
  'waiting',
  'retrying',
  'delivered',
  'dead_letter',
  'dropped',
  'attempts_expired',
] as const;
export type Fate = (typeof FATES)[number];

export interface EventFate {
  readonly webhookId: WebhookId;
  /** null: the webhook is deleted. */
  readonly endpoint: string | null;
  /** The routing rule that the webhook belongs to. null: none, or the webhook is deleted. */
  readonly ruleId: RoutingRuleId | null;
  readonly failingSince: Date | null;
  readonly fate: Fate;
  /** The API's word for the fate. */
  readonly status: WebhookEventStatus;
  /** Attempts of the outstanding delivery, or of the dead letter; otherwise logged attempts, 100 at most. */
  readonly attempts: number;
  readonly deadLetterId: DeadLetterId | null;
  /** null: an attempt runs, or no attempt follows. */
  readonly nextAttemptAt: Date | null;
}

interface FateRow extends Omit<EventFate, 'fate' | 'ruleId'> {
  readonly eventId: EventId;
  readonly delivery: (typeof DELIVERY_FATES)[number];
  readonly subject: string | null;
}

/**
 * Reads what became of events of any account at each webhook.
 *
 * @param ids at most 500, each once. @returns the fates for each id. There are none when no webhook matched,
 *   and for a missing event.
 */
export async function readFates(
  { pool }: Pick<Database, 'pool'>,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, readonly EventFate[]>> {
  const fates = new Map<EventId, EventFate[]>(ids.map((id) => [id, []]));
  if (ids.length === 0) return fates;
  for (const { eventId, delivery, subject, ...row } of await runOn<FateRow>(pool, findFates, [ids])) {
    const fate = fateOf(delivery, row.attempts);
    fates.get(eventId)?.push({ ...row, ruleId: ruleOfSubject(subject), fate });
  }
  return fates;
}

function fateOf(delivery: FateRow['delivery'], attempts: number): Fate {
  if (delivery === 'queued') return attempts === 0 ? 'waiting' : 'retrying';
  return delivery === 'unknown' ? 'attempts_expired' : delivery;
}
