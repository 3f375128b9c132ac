import { notificationDetailOf, parseEmailAddress, parseId } from '@postrider/domain';
import type { BlamedAddress, EmailId, ReportedEvent } from '@postrider/domain';
import { utcTimestamp } from '../utc-timestamp.ts';
import {
  notification as shape,
  parsedAs,
  type SesNotification,
  type SesRecipient,
} from './notification-shape.ts';

type Report = Extract<ReportedEvent, { recipients: unknown }>;

/** A notification's content, in SES's terms. */
interface Findings {
  type: Report['type'];
  /** Null: the notification has no time, and the mail's time is used. */
  timestamp: string | null;
  /** The recipients that the notification names. Empty: all recipients of the mail. */
  addresses: readonly (string | null)[];
  detail: Parameters<typeof notificationDetailOf>[0];
  /** True when a program opened or clicked. Null or missing: SES does not say. */
  machine?: boolean | null;
  /** Missing: the notification suppresses no address. */
  suppressAs?: BlamedAddress['reason'];
}

/**
 * A notification becomes one event, for any number of recipients.
 *
 * Three ids may name the email, in this order: the tag `email_id`, the provider's message id, our Message-ID.
 * The Message-ID is read only when the tag is missing.
 */
export interface SesEvent {
  readonly kind: 'event';
  /** The value of the tag. It can be any text: SES does not check it. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** The id in the Message-ID header. It can belong to mail that is not ours. */
  readonly writtenEmailId: EmailId | null;
  readonly event: ReportedEvent;
  /** The addresses to suppress, in the notification's case. One may occur twice. */
  readonly suppress: readonly BlamedAddress[];
}

type SesReading = SesEvent | { readonly kind: 'ignored'; readonly why: string };

/** A Map, because SES chooses the keys: a plain object would also find `constructor`. */
const READERS = new Map<string, (notification: SesNotification) => Findings>([
  ['Delivery', readDelivery],
  ['DeliveryDelay', readDelay],
  ['Bounce', readBounce],
  ['Complaint', readComplaint],
  ['Reject', ({ reject }) => ofTheMail('email.rejected', null, { reject_reason: reject.reason })],
  ['Open', readOpen],
  ['Click', readClick],
]);

/** Event publishing writes the type with a space, SES's API without one. */
const RENDERING_FAILURES = new Set(['Rendering Failure', 'RenderingFailure']);

/**
 * Interprets the `Message` of an authentic SNS notification. Never throws, for any text.
 *
 * It ignores plain text, Send (`email.sent` comes from the provider's acceptance), Subscription and unknown
 * types. It also ignores a notification without a message or without recipients.
 *
 * @param publishedAt the envelope's `Timestamp`, which replaces a missing or unreadable time.
 */
export function readSesNotification(messageText: string, publishedAt: string): SesReading {
  const notification = parsedAs(shape, messageText);
  if (notification === null) return ignored('not a JSON object');
  const { mail } = notification;
  const type = notification.eventType ?? notification.notificationType;
  if (type === null) return ignored('no eventType and no notificationType');

  const findings = READERS.get(type)?.(notification);
  const isRenderingFailure = RENDERING_FAILURES.has(type);
  if (findings === undefined && !isRenderingFailure) return ignored('of a type that makes no event');
  const ids = idsOf(mail);
  const { emailId, providerMessageId, writtenEmailId } = ids;
  if ((emailId ?? providerMessageId ?? writtenEmailId) === null) return ignored('names no message');
  if (findings === undefined) {
    const error = notification.failure.errorMessage ?? 'the template could not be rendered';
    return { kind: 'event', ...ids, event: { type: 'email.failed', error }, suppress: [] };
  }

  const recipients = namedIn(findings.addresses, mail.destination);
  if (recipients.length === 0) return ignored('names no recipient');
  const occurredAt = firstTime([findings.timestamp, mail.timestamp, publishedAt]);
  if (occurredAt === null) return ignored('names no time');
  return {
    kind: 'event',
    ...ids,
    event: {
      type: findings.type,
      recipients,
      occurredAt,
      detail: notificationDetailOf(findings.detail),
      machine: findings.machine ?? null,
    },
    suppress:
      findings.suppressAs === undefined ? [] : suppressionsOf(findings.addresses, findings.suppressAs),
  };
}

function idsOf({
  tags,
  headers,
  messageId,
}: SesNotification['mail']): Pick<SesEvent, 'emailId' | 'providerMessageId' | 'writtenEmailId'> {
  const emailId = tags.email_id[0] ?? null;
  return {
    emailId,
    providerMessageId: messageId,
    writtenEmailId: emailId === null ? emailIdIn(headers) : null,
  };
}

/** SES replaces the Message-ID when it sends, but reports the original: `<email id@domain>` in our mail. */
function emailIdIn(headers: SesNotification['mail']['headers']): EmailId | null {
  const written = headers.find(({ name }) => name?.toLowerCase() === 'message-id')?.value ?? '';
  const [, local = ''] = /^<([^@<>\s]+)@[^@<>\s]+>$/.exec(written) ?? [];
  return parseId('email', local);
}

function ignored(why: string): SesReading {
  return { kind: 'ignored', why };
}

function readDelivery({ delivery }: SesNotification): Findings {
  return {
    type: 'email.delivered',
    timestamp: delivery.timestamp,
    addresses: delivery.recipients,
    detail: { smtp_response: delivery.smtpResponse },
  };
}

function readDelay({ deliveryDelay }: SesNotification): Findings {
  return {
    type: 'email.delivery_delayed',
    timestamp: deliveryDelay.timestamp,
    addresses: addressesOf(deliveryDelay.delayedRecipients),
    detail: { diagnostic: deliveryDelay.delayedRecipients[0]?.diagnosticCode ?? deliveryDelay.delayType },
  };
}

/** Only `Permanent` suppresses the address. `Transient`, `Undetermined` and unknown types do not. */
function readBounce({ bounce }: SesNotification): Findings {
  const common = {
    timestamp: bounce.timestamp,
    addresses: addressesOf(bounce.bouncedRecipients),
    detail: {
      bounce_type: bounce.bounceType,
      bounce_sub_type: bounce.bounceSubType,
      diagnostic: bounce.bouncedRecipients[0]?.diagnosticCode ?? null,
    },
  };
  return bounce.bounceType === 'Permanent'
    ? { ...common, type: 'email.bounced', suppressAs: 'bounce' }
    : { ...common, type: 'email.soft_bounced' };
}

/** `not-spam` withdraws a complaint (RFC 6430). It is reported and suppresses no address. */
function readComplaint({ complaint }: SesNotification): Findings {
  const common: Findings = {
    type: 'email.complained',
    timestamp: complaint.timestamp,
    addresses: addressesOf(complaint.complainedRecipients),
    detail: { complaint_type: complaint.complaintFeedbackType ?? complaint.complaintSubType },
  };
  const isWithdrawn = complaint.complaintFeedbackType?.toLowerCase() === 'not-spam';
  return isWithdrawn ? common : { ...common, suppressAs: 'complaint' };
}

function readOpen({ open }: SesNotification): Findings {
  return { ...ofTheMail('email.opened', open.timestamp, {}), machine: open.isBotEvent };
}

function readClick({ click }: SesNotification): Findings {
  const findings = ofTheMail('email.clicked', click.timestamp, { link: click.link });
  return { ...findings, machine: click.isBotEvent };
}

/** For Reject, Open and Click, which name no recipients of their own: the event is about the whole mail. */
function ofTheMail(type: Report['type'], timestamp: string | null, detail: Findings['detail']): Findings {
  return { type, timestamp, addresses: [], detail };
}

function addressesOf(recipients: readonly SesRecipient[]): (string | null)[] {
  return recipients.map((recipient) => recipient.emailAddress);
}

function namedIn(addresses: readonly (string | null)[], destination: readonly (string | null)[]): string[] {
  const named = distinct(addresses);
  return named.length > 0 ? named : distinct(destination);
}

function distinct(addresses: readonly (string | null)[]): string[] {
  return [...new Set(addresses.filter((address) => address !== null).map(withoutName))];
}

/** Removes the name from `Name <local@domain>`. A text that is not an address stays as written. */
function withoutName(text: string): string {
  return parseEmailAddress(text)?.address ?? text;
}

/**
 * The addresses that the notification itself names, without the mail's other recipients. A text that is not
 * an address is left out: we cannot send to it.
 */
function suppressionsOf(
  addresses: readonly (string | null)[],
  reason: BlamedAddress['reason'],
): BlamedAddress[] {
  return addresses.flatMap((text) => {
    const parsed = text === null ? null : parseEmailAddress(text);
    return parsed === null ? [] : [{ address: parsed.address, reason }];
  });
}

function firstTime(candidates: readonly (string | null)[]): string | null {
  for (const candidate of candidates) {
    const time = candidate === null ? null : utcTimestamp(candidate);
    if (time !== null) return time;
  }
  return null;
}
