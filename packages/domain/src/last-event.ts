import type { EventType } from './event-types.ts';

/** The events of a message that was sent, without their `email.`; and its states before the first. */
type LastEvent = Exclude<EmailEventName<EventType>, 'unsubscribed'> | 'queued' | 'stored';
type EmailEventName<T> = T extends `email.${infer W}` ? W : never;

/**
 * What is known of a message, from least to most telling. What the provider reports comes in any order, and once for
 * each recipient; so a message moves up this list and never down, and ends at the same word whatever the order was.
 * Words of one rank: the first that came stays.
 */
const RANKS = new Map<string, number>(
  Object.entries({
    queued: 0,
    stored: 0,
    sent: 1,
    delivery_delayed: 2,
    soft_bounced: 3, // also an absence notice, which may come of a message that was delivered
    delivered: 4,
    opened: 5,
    clicked: 6,
    // What a sender has to act on outranks all that went well, for another recipient or before.
    failed: 7,
    rejected: 7,
    bounced: 8,
    complained: 9,
  } satisfies Record<LastEvent, number>),
);

/** What `last_event` of a message says after another event: `email.soft_bounced` → `soft_bounced`, if it tells more. */
export function lastEventAfter(current: string, type: EventType): string {
  const reported = type.slice(type.indexOf('.') + 1);
  return rank(reported) > rank(current) ? reported : current;
}

/** Values of `last_event` that stay what they are after the event: those that tell as much, or more. */
export function lastEventsAtLeast(type: EventType): string[] {
  return [...RANKS.keys()].filter((word) => lastEventAfter(word, type) === word);
}

/** A word that is not listed says nothing of a message. */
function rank(word: string): number {
  return RANKS.get(word) ?? -1;
}
