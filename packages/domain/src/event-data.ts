import { z } from 'zod';
import type { EventType } from './event-types.ts';
import { AUTH_RESULTS, HELD_REASONS } from './screening-words.ts';

/** ISO 8601 UTC with milliseconds. Every timestamp that leaves the service has this form. */
const timestamp = z.iso.datetime({ precision: 3 });
const nullableText = z.string().nullable();

const sendResult = {
  email_id: z.string(),
  from: z.string(),
  subject: z.string(),
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

const EMPTY_DETAIL: NotificationDetail = {
  bounce_type: null,
  bounce_sub_type: null,
  diagnostic: null,
  complaint_type: null,
  smtp_response: null,
  reject_reason: null,
  link: null,
};

/** A notification's detail, with keys in the contract's order. Unknown keys are null. */
export function notificationDetailOf(known: Partial<NotificationDetail>): NotificationDetail {
  return { ...EMPTY_DETAIL, ...known };
}

const providerNotification = z.strictObject({
  email_id: z.string(),
  recipients: z.array(z.string()).min(1),
  occurred_at: timestamp,
  detail: notificationDetail,
});

const unsubscribed = z
  .strictObject({
    email_id: z.null(),
    to: z.string(),
    topic: nullableText,
    scope: z.enum(['all', 'topic']),
    source: z.enum(['one_click', 'page', 'api']),
    occurred_at: timestamp,
  })
  .refine((data) => (data.scope === 'topic') === (data.topic !== null), {
    message: 'scope "topic" names its topic, scope "all" has none',
  });

const attachment = z.strictObject({
  id: z.string(),
  filename: nullableText,
  content_type: z.string(),
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
  id: z.string(),
  status: z.enum(['received', 'held', 'released']),
  inbox_id: nullableText,
  thread_id: nullableText,
  rule_id: nullableText,
  message_id: nullableText,
  in_reply_to: nullableText,
  from: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  reply_to: z.array(z.string()),
  received_for: z.array(z.string()),
  subject: nullableText,
  text: nullableText,
  text_truncated: z.boolean(),
  received_at: timestamp,
  size: z.int().nonnegative(),
  attachments: z.array(attachment),
  auth: z.strictObject({ spf: authResult, dkim: authResult, dmarc: authResult }),
  automatic: z.boolean(),
  held_reason: z.enum(HELD_REASONS).nullable(),
});

/** The `data` of each event type (contract 2.3): exactly these keys, in this order. */
export const EVENT_DATA = {
  'email.sent': z.strictObject({ ...sendResult, error: z.null() }),
  'email.failed': z.strictObject({ ...sendResult, error: z.string().min(1) }),
  'email.delivered': providerNotification,
  'email.delivery_delayed': providerNotification,
  'email.bounced': providerNotification,
  'email.soft_bounced': providerNotification,
  'email.complained': providerNotification,
  'email.rejected': providerNotification,
  'email.opened': providerNotification,
  'email.clicked': providerNotification,
  'email.unsubscribed': unsubscribed,
  'message.received': receivedMessage,
  'message.held': receivedMessage,
} as const satisfies Record<EventType, z.ZodType>;

export type EventData<T extends EventType> = z.infer<(typeof EVENT_DATA)[T]>;
