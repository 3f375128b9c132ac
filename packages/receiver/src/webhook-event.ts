/**
 * `data` of `email.sent` and `email.failed`. `error` is null in the first and gives the reason in the second.
 */
export interface SendResult<Fault extends string | null> {
  email_id: string;
  from: string;
  subject: string;
  error: Fault;
}

/** Every key is always present. A key that does not apply to the type is null. */
export interface NotificationDetail {
  bounce_type: string | null;
  bounce_sub_type: string | null;
  diagnostic: string | null;
  complaint_type: string | null;
  smtp_response: string | null;
  reject_reason: string | null;
  link: string | null;
}

/** `data` of a provider's report about an accepted message. */
export interface ProviderNotification {
  email_id: string;
  /** All recipients that the provider's notification names. */
  recipients: string[];
  /** ISO 8601 UTC with milliseconds. */
  occurred_at: string;
  detail: NotificationDetail;
}

/** `data` of `email.opened` and `email.clicked`. */
export interface TrackedNotification extends ProviderNotification {
  /** True: probably a program did it, such as a link scanner. Null: the provider does not say. */
  machine: boolean | null;
}

/** `data` of `email.unsubscribed`. */
export interface Unsubscribed {
  email_id: null;
  to: string;
  /** The topic's id when `scope` is `topic`, otherwise null. */
  topic: string | null;
  scope: 'all' | 'topic';
  source: 'one_click' | 'page' | 'api';
  occurred_at: string;
}

export type AuthResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror';

/**
 * A received message: the first 100 entries of each list and the first 16 KiB of text, or fewer to fit in
 * 64 KiB of JSON. The API has the rest.
 */
export interface ReceivedMessage {
  object: 'message';
  id: string;
  /** `released`: the message was held before. */
  status: 'received' | 'held' | 'released';
  /** Null when a routing rule accepted the message and the address has no inbox. */
  inbox_id: string | null;
  /** Null while the message is held, and without an inbox. */
  thread_id: string | null;
  rule_id: string | null;
  message_id: string | null;
  in_reply_to: string | null;
  from: string;
  to: string[];
  cc: string[];
  reply_to: string[];
  /** The recipient addresses that led to this inbox or rule. */
  received_for: string[];
  subject: string | null;
  text: string | null;
  text_truncated: boolean;
  received_at: string;
  size: number;
  attachments: {
    id: string;
    filename: string | null;
    content_type: string;
    content_id: string | null;
    size: number;
  }[];
  auth: { spf: AuthResult; dkim: AuthResult; dmarc: AuthResult };
  /** True: a program sent it, such as an out-of-office reply. */
  automatic: boolean;
  held_reason: 'virus' | 'spam' | 'auth_failed' | 'blocked_sender' | null;
  /** False: a part of the message was not read. Its raw bytes have that part. */
  complete: boolean;
}

interface DataByType {
  'email.sent': SendResult<null>;
  'email.failed': SendResult<string>;
  'email.delivered': ProviderNotification;
  'email.delivery_delayed': ProviderNotification;
  'email.bounced': ProviderNotification;
  'email.soft_bounced': ProviderNotification;
  'email.complained': ProviderNotification;
  'email.rejected': ProviderNotification;
  'email.opened': TrackedNotification;
  'email.clicked': TrackedNotification;
  'email.unsubscribed': Unsubscribed;
  'message.received': ReceivedMessage;
  'message.held': ReceivedMessage;
}

/** The body of a delivery. We may add types: skip a `type` that you do not know. */
export type WebhookEvent = {
  [T in keyof DataByType]: {
    /** The same on every retry and replay. Skip an id that you have already handled. */
    id: string;
    type: T;
    /** The account, or `<account>/inbound/<rule>` for a routing rule's own endpoint. */
    subject: string;
    created_at: string;
    data: DataByType[T];
  };
}[keyof DataByType];
