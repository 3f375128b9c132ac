import { expect, test } from '@jest/globals';
import { EVENT_TYPES, isEventType, receivedTypes } from './event-types.ts';

test('the event types are those of contract 6.1, in its order', () => {
  expect(EVENT_TYPES.join(' ')).toBe(
    'email.sent email.failed email.delivered email.delivery_delayed email.bounced email.soft_bounced ' +
      'email.complained email.rejected email.opened email.clicked email.unsubscribed message.received message.held',
  );
});

test.each(['', 'email', 'email.*', 'Email.sent', 'email.sent ', 'constructor', '__proto__'])(
  '"%s" is no event type',
  (text) => {
    expect(isEventType(text)).toBe(false);
  },
);

test('every type of the list is one', () => {
  expect(EVENT_TYPES.filter(isEventType)).toEqual(EVENT_TYPES);
});

test('asking for nothing means every type, asking for some means those', () => {
  expect(receivedTypes([])).toEqual(EVENT_TYPES);
  expect(receivedTypes(['email.sent'])).toEqual(['email.sent']);
});
