import type { EventType } from './event-types.ts';

/** The type of a sent message's event, without `email.`, or a state before the first event. */
type LastEvent = Exclude<EmailEventName<EventType>, 'unsubscribed'> | 'queued' | 'stored';
type EmailEventName<T> = T extends `email.${infer W}` ? W : never;

/**
 * The values of `last_event`, from least to most important. The provider reports in any order, and once per
 * recipient. A message only moves to a higher rank, so it ends at the same rank in any order. With equal
 * ranks, the first value stays.
 */
const RANKS = new Map<string, number>(
  Object.entries({
    queued: 0,
    stored: 0,
    sent: 1,
    delivery_delayed: 2,
    soft_bounced: 3, // includes out-of-office replies, which can follow a delivery
    delivered: 4,
    opened: 5,
    clicked: 6,
    // A sender must react to these, so they outrank every success.
    failed: 7,
    rejected: 7,
    bounced: 8,
    complained: 9,
  } satisfies Record<LastEvent, number>),
);

/**
 * The new `last_event` after an event: `email.soft_bounced` becomes `soft_bounced`, if its rank is higher.
 */
export function lastEventAfter(current: string, type: EventType): string {
  const reported = type.slice(type.indexOf('.') + 1);
  return rank(reported) > rank(current) ? reported : current;
}

/** The values of `last_event` that this event does not change: those of equal or higher rank. */
export function lastEventsAtLeast(type: EventType): string[] {
  return [...RANKS.keys()].filter((word) => lastEventAfter(word, type) === word);
}

/** An unknown value has the lowest rank. */
function rank(word: string): number {
  return RANKS.get(word) ?? -1;
}
