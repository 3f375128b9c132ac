import { describe, expect, test } from '@jest/globals';
import { EVENT_DATA, notificationDetailOf } from './event-data.ts';
import { EVENT_TYPES } from './event-types.ts';
import type { EventType } from './event-types.ts';

type Data = Record<string, unknown>;

const detail = notificationDetailOf({});
const notification = {
  email_id: 'em_1',
  recipients: ['jane@example.net'],
  occurred_at: '2026-11-20T10:15:32.456Z',
  detail,
};
const tracked = { ...notification, machine: true };
const message = {
  object: 'message',
  id: 'msg_1',
  status: 'received',
  inbox_id: 'ibx_1',
  thread_id: 'thr_1',
  rule_id: null,
  message_id: null,
  in_reply_to: null,
  from: 'a@example.com',
  to: ['b@example.com'],
  cc: [],
  reply_to: [],
  received_for: ['b@example.com'],
  subject: null,
  text: null,
  text_truncated: false,
  received_at: '2026-11-20T10:15:30.000Z',
  size: 0,
  attachments: [{ id: 'att_1', filename: null, content_type: 'text/plain', content_id: null, size: 0 }],
  auth: { spf: 'pass', dkim: 'none', dmarc: 'none' },
  automatic: false,
  held_reason: null,
  complete: true,
};
const unsubscribed = {
  email_id: null,
  to: 'jane@example.net',
  topic: null,
  scope: 'all',
  source: 'one_click',
  occurred_at: '2026-11-20T10:15:32.456Z',
};
const NOTIFICATIONS = [
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.soft_bounced',
  'email.complained',
  'email.rejected',
  'email.opened',
  'email.clicked',
] as const;
const sent = { email_id: 'em_1', from: 'a@example.com', subject: 'Hi', error: null };

const GOOD: Record<EventType, Data> = {
  'email.sent': sent,
  'email.failed': { ...sent, error: 'refused by the provider' },
  'email.delivered': notification,
  'email.delivery_delayed': notification,
  'email.bounced': notification,
  'email.soft_bounced': notification,
  'email.complained': notification,
  'email.rejected': notification,
  'email.opened': tracked,
  'email.clicked': { ...tracked, machine: null },
  'email.unsubscribed': unsubscribed,
  'message.received': message,
  'message.held': { ...message, held_reason: 'spam' },
};

const accepts = (type: EventType, data: Data) => EVENT_DATA[type].safeParse(data).success;

describe('data by event type (contract 2.3)', () => {
  test.each(EVENT_TYPES)('%s takes what the contract states', (type) => {
    expect(EVENT_DATA[type].parse(GOOD[type])).toEqual(GOOD[type]);
  });

  test.each(EVENT_TYPES)('%s refuses a field more, and each field less', (type) => {
    expect(accepts(type, { ...GOOD[type], extra: 1 })).toBe(false);
    for (const field of Object.keys(GOOD[type])) {
      const less = Object.fromEntries(Object.entries(GOOD[type]).filter(([name]) => name !== field));
      expect([field, accepts(type, less)]).toEqual([field, false]);
    }
  });

  test.each(EVENT_TYPES)('%s leaves with its keys in one order, whatever order it was given', (type) => {
    const reversed = Object.fromEntries(Object.entries(GOOD[type]).reverse());
    expect(JSON.stringify(EVENT_DATA[type].parse(reversed))).toBe(JSON.stringify(GOOD[type]));
  });

  test('email.sent has a null error, email.failed always says why', () => {
    expect(accepts('email.sent', { ...sent, error: 'x' })).toBe(false);
    expect(accepts('email.failed', { ...sent, error: null })).toBe(false);
    expect(accepts('email.failed', { ...sent, error: '' })).toBe(false);
  });

  test.each(NOTIFICATIONS)('%s names at least one recipient and one email', (type) => {
    expect(accepts(type, { ...GOOD[type], recipients: [] })).toBe(false);
    expect(accepts(type, { ...GOOD[type], recipients: [null] })).toBe(false);
    expect(accepts(type, { ...GOOD[type], email_id: null })).toBe(false);
  });

  test.each(NOTIFICATIONS)('%s carries all seven keys of detail and no other', (type) => {
    expect(accepts(type, { ...GOOD[type], detail: { ...detail, more: null } })).toBe(false);
    expect(accepts(type, { ...GOOD[type], detail: {} })).toBe(false);
    expect(accepts(type, { ...GOOD[type], detail: { ...detail, link: 1 } })).toBe(false);
  });

  test.each([
    '2026-11-20T10:15:32Z',
    '2026-11-20T10:15:32.456+01:00',
    '2026-11-20T10:15:32.456',
    '2026-13-20T10:15:32.456Z',
    'now',
  ])('the time %s is not ISO 8601 UTC with milliseconds', (occurred_at) => {
    expect(accepts('email.opened', { ...tracked, occurred_at })).toBe(false);
    expect(accepts('email.unsubscribed', { ...unsubscribed, occurred_at })).toBe(false);
    expect(accepts('message.held', { ...message, received_at: occurred_at })).toBe(false);
  });

  test('email.unsubscribed names a topic exactly when its scope is one', () => {
    expect(accepts('email.unsubscribed', { ...unsubscribed, scope: 'topic', topic: 'top_1' })).toBe(true);
    expect(accepts('email.unsubscribed', { ...unsubscribed, scope: 'topic' })).toBe(false);
    expect(() => EVENT_DATA['email.unsubscribed'].parse({ ...unsubscribed, topic: 'top_1' })).toThrow(
      'its topic',
    );
  });

  test('email.unsubscribed comes from one click, the page or the API, and from no email', () => {
    for (const source of ['one_click', 'page', 'api']) {
      expect([source, accepts('email.unsubscribed', { ...unsubscribed, source })]).toEqual([source, true]);
    }
    expect(accepts('email.unsubscribed', { ...unsubscribed, source: 'bounce' })).toBe(false);
    expect(accepts('email.unsubscribed', { ...unsubscribed, email_id: 'em_1' })).toBe(false);
  });
});

test('a detail is null where nothing is known, keys in the contract order', () => {
  expect(JSON.stringify(notificationDetailOf({ link: 'https://x.example/', bounce_type: 'Permanent' }))).toBe(
    '{"bounce_type":"Permanent","bounce_sub_type":null,"diagnostic":null,"complaint_type":null,' +
      '"smtp_response":null,"reject_reason":null,"link":"https://x.example/"}',
  );
});

test('text with half of a surrogate pair is refused in every place', () => {
  const half = 'cut \ud83d';
  expect(EVENT_DATA['email.failed'].safeParse({ ...sent, error: half }).success).toBe(false);
  expect(EVENT_DATA['email.bounced'].safeParse({ ...notification, recipients: [half] }).success).toBe(false);
  const halfDetail = { ...notification, detail: { ...detail, diagnostic: half } };
  expect(EVENT_DATA['email.bounced'].safeParse(halfDetail).success).toBe(false);
  expect(EVENT_DATA['message.received'].safeParse({ ...message, text: half }).success).toBe(false);
  expect(EVENT_DATA['message.received'].safeParse({ ...message, text: 'whole 🎉' }).success).toBe(true);
});
