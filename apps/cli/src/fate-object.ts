import type { EventFate, EventWithFates } from '@postrider/store';

/** The fate of an event at a webhook. */
export function fateObject(fate: EventFate) {
  return {
    id: fate.webhookId,
    /** null: the webhook is deleted. */
    endpoint: fate.endpoint,
    rule_id: fate.ruleId,
    failing_since: fate.failingSince?.toISOString() ?? null,
    state: fate.fate,
    /** The status that the API shows to the customer. */
    status: fate.status,
    attempts: fate.attempts,
    next_attempt_at: fate.nextAttemptAt?.toISOString() ?? null,
    dead_letter_id: fate.deadLetterId,
  };
}

export function foundEventObject(event: EventWithFates) {
  return {
    id: event.id,
    account: event.accountId,
    type: event.type,
    created_at: event.createdAt.toISOString(),
    email_id: event.emailId,
    webhooks: event.fates.map(fateObject),
  };
}

/** For example `2 delivered, 1 dead_letter`. */
export function fatesInWords(fates: readonly EventFate[]): string {
  const counts = Map.groupBy(fates, ({ fate }) => fate);
  const words = [...counts].map(([fate, those]) => `${those.length} ${fate}`);
  return words.join(', ') || 'no webhook matched';
}
