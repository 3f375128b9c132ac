/** Contract section 6.1, in its order. */
export const EVENT_TYPES = [
  'email.sent',
  'email.failed',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.soft_bounced',
  'email.complained',
  'email.rejected',
  'email.opened',
  'email.clicked',
  'email.unsubscribed',
  'message.received',
  'message.held',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

export function isEventType(text: string): text is EventType {
  return (EVENT_TYPES as readonly string[]).includes(text);
}

/**
 * The event types that a webhook receives now. An empty list means every type, including types that are added
 * later (contract 2.1).
 */
export function receivedTypes(asked: readonly EventType[]): readonly EventType[] {
  return asked.length === 0 ? EVENT_TYPES : asked;
}
