import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EVENT_TYPES } from './event-types.ts';
import type { EventType } from './event-types.ts';
import { lastEventAfter, lastEventsAtLeast } from './last-event.ts';

const REPORTS = EVENT_TYPES.filter((type) => type.startsWith('email.') && type !== 'email.unsubscribed');

function lastOf(events: readonly EventType[]): string {
  return events.reduce<string>(lastEventAfter, 'queued');
}

test.each([
  ['the usual way', ['email.sent', 'email.delivered', 'email.opened', 'email.clicked'], 'clicked'],
  ['delivered comes after clicked', ['email.sent', 'email.clicked', 'email.delivered'], 'clicked'],
  ['a report overtakes the acceptance', ['email.delivered', 'email.sent'], 'delivered'],
  ['delayed, then delivered', ['email.sent', 'email.delivery_delayed', 'email.delivered'], 'delivered'],
  ['an absence notice', ['email.sent', 'email.delivered', 'email.soft_bounced'], 'delivered'],
  ['one of two bounces', ['email.sent', 'email.bounced', 'email.delivered', 'email.opened'], 'bounced'],
  ['a complaint', ['email.sent', 'email.delivered', 'email.complained', 'email.opened'], 'complained'],
] as const)('%s', (_, events, last) => {
  expect(lastOf(events)).toBe(last);
});

test.each(REPORTS)('%s is told of a message that has only been stored', (type) => {
  expect(lastEventAfter('queued', type)).toBe(type.slice('email.'.length));
  expect(lastEventAfter('stored', type)).toBe(type.slice('email.'.length));
});

test('what tells as much as an event, or more, stays', () => {
  const more = ['failed', 'rejected', 'bounced', 'complained'];
  expect(lastEventsAtLeast('email.opened')).toEqual(['opened', 'clicked', ...more]);
  expect(lastEventsAtLeast('email.bounced')).toEqual(['bounced', 'complained']);
});

describe('whatever the order', () => {
  // `failed` and `rejected` share a rank. A message never has both: the provider rejects only mail that it
  // had accepted.
  const possible = REPORTS.filter((type) => type !== 'email.failed');

  test('the last word is the same', () => {
    const shuffled = fc
      .array(fc.constantFrom(...possible), { minLength: 1 })
      .chain((events) =>
        fc.tuple(
          fc.constant(events),
          fc.shuffledSubarray(events, { minLength: events.length, maxLength: events.length }),
        ),
      );
    fc.assert(fc.property(shuffled, ([events, others]) => lastOf(events) === lastOf(others)));
  });
});

test.each(['email.unsubscribed', 'message.received', 'message.held'] as const)(
  '%s says nothing of a message that was sent',
  (type) => {
    expect(lastEventAfter('queued', type)).toBe('queued');
  },
);
