import { z } from 'zod';
import type { EventType } from './event-types.ts';
import { AUTH_RESULTS, HELD_REASONS } from './screening-words.ts';

/** ISO 8601 UTC with milliseconds. Every timestamp that leaves the service has this form. */
const timestamp = z.iso.datetime({ precision: 3 });
/** Half of a surrogate pair is no text: Postgres and other JSON readers refuse it. */
const text = z
  .string()
  .refine((written) => written.isWellFormed(), { error: 'contains half of a surrogate pair' });
const nullableText = text.nullable();

const sendResult = {
  email_id: text,
  from: text,
  subject: text,
};

/** Every key is always present (contract 2.3). A key that does not apply to the type is null. */
const notificationDetail = z.strictObject({
  bounce_type: nullableText,
  bounce_sub_type: nullableText,
  diagnostic: nullableText,
  complaint_type: nullableText,
  smtp_response: nullableText,
  reject_reason: nullableText,
  link: nullableText,
});

export type NotificationDetail = z.infer<typeof notificationDetail>;

const EMPTY_DETAIL = Object.fromEntries(
  Object.keys(notificationDetail.shape).map((key) => [key, null]),
) as NotificationDetail;

/** A notification's detail, with keys in the contract's order. Keys that are not in `known` are null. */
export function notificationDetailOf(known: Partial<NotificationDetail>): NotificationDetail {
  return { ...EMPTY_DETAIL, ...known };
}

const providerNotification = z.strictObject({
  email_id: text,
  recipients: z.array(text).min(1),
  occurred_at: timestamp,
  detail: notificationDetail,
});

/** `machine` is true when probably a program opened or clicked. Null: the provider does not say. */
const trackedNotification = providerNotification.extend({ machine: z.boolean().nullable() });

const unsubscribed = z
  .strictObject({
    email_id: z.null(),
    to: text,
    topic: nullableText,
    scope: z.enum(['all', 'topic']),
    source: z.enum(['one_click', 'page', 'api']),
    occurred_at: timestamp,
  })
  .refine((data) => (data.scope === 'topic') === (data.topic !== null), {
    message: 'scope "topic" names its topic, scope "all" has none',
  });

const attachment = z.strictObject({
  id: text,
  filename: nullableText,
  content_type: text,
  content_id: nullableText,
  size: z.int().nonnegative(),
});

const authResult = z.enum(AUTH_RESULTS);

/**
 * The received-message record. The contract leaves its fields open; docs/inbound.md states our choice. Its
 * text is limited; the API returns the whole text. It has no links to attachments: links expire, and an
 * event's bytes never change.
 */
const receivedMessage = z.strictObject({
  object: z.literal('message'),
  id: text,
  status: z.enum(['received', 'held', 'released']),
  inbox_id: nullableText,
  thread_id: nullableText,
  rule_id: nullableText,
  message_id: nullableText,
  in_reply_to: nullableText,
  from: text,
  to: z.array(text),
  cc: z.array(text),
  reply_to: z.array(text),
  received_for: z.array(text),
  subject: nullableText,
  text: nullableText,
  text_truncated: z.boolean(),
  received_at: timestamp,
  size: z.int().nonnegative(),
  attachments: z.array(attachment),
  auth: z.strictObject({ spf: authResult, dkim: authResult, dmarc: authResult }),
  automatic: z.boolean(),
  held_reason: z.enum(HELD_REASONS).nullable(),
  complete: z.boolean(),
});

/** The `data` of each event type (contract 2.3): exactly these keys, in this order. */
export const EVENT_DATA = {
  'email.sent': z.strictObject({ ...sendResult, error: z.null() }),
  'email.failed': z.strictObject({ ...sendResult, error: text.min(1) }),
  'email.delivered': providerNotification,
  'email.delivery_delayed': providerNotification,
  'email.bounced': providerNotification,
  'email.soft_bounced': providerNotification,
  'email.complained': providerNotification,
  'email.rejected': providerNotification,
  'email.opened': trackedNotification,
  'email.clicked': trackedNotification,
  'email.unsubscribed': unsubscribed,
  'message.received': receivedMessage,
  'message.held': receivedMessage,
} as const satisfies Record<EventType, z.ZodType>;

export type EventData<T extends EventType> = z.infer<(typeof EVENT_DATA)[T]>;

/** The recipients that the data names, as written. The data of `email.sent` and `email.failed` names none. */
export function recipientsOf(data: EventData<EventType>): readonly string[] {
  if ('recipients' in data) return data.recipients;
  if ('received_for' in data) return data.received_for;
  return 'to' in data ? [data.to] : [];
}
