import { z } from 'zod';

/*
 * The parts of an SES notification that are read, for both of its formats: event publishing (`eventType`) and identity
 * notifications (`notificationType`). Source: Amazon SES Developer Guide, "Contents of event data that Amazon SES
 * publishes to Amazon SNS" and "Amazon SNS notification contents for Amazon SES".
 *
 * SES adds fields and words as it likes. So nothing here refuses: what is missing or of another type reads as null or
 * as an empty list, and what is not listed is not looked at.
 */

/** PostgreSQL keeps no NUL, and half of a surrogate pair has no UTF-8. */
function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
}

export const text = z.string().min(1).transform(storable).nullable().catch(null);
export const texts = z.array(text).catch([]);

const recipient = z
  .object({ emailAddress: text, diagnosticCode: text })
  .catch({ emailAddress: null, diagnosticCode: null });
const recipients = z.array(recipient).catch([]);

const headers = z.array(z.object({ name: text, value: text }).catch({ name: null, value: null })).catch([]);

function part<T extends z.ZodRawShape>(shape: T) {
  const object = z.object(shape);
  // Every field of a shape has a value for "not there", so an empty object is always one of the shape.
  return object.catch(() => object.parse({}));
}

const notification = z.object({
  eventType: text,
  notificationType: text,
  mail: part({
    timestamp: text,
    messageId: text,
    destination: texts,
    /** As the sender wrote them. An identity's notifications have them where it is set to include them. */
    headers,
    /** In those of an event destination alone. */
    tags: part({ email_id: texts }),
  }),
  bounce: part({ timestamp: text, bounceType: text, bounceSubType: text, bouncedRecipients: recipients }),
  complaint: part({
    timestamp: text,
    complaintFeedbackType: text,
    complaintSubType: text,
    complainedRecipients: recipients,
  }),
  delivery: part({ timestamp: text, recipients: texts, smtpResponse: text }),
  deliveryDelay: part({ timestamp: text, delayType: text, delayedRecipients: recipients }),
  reject: part({ reason: text }),
  open: part({ timestamp: text }),
  click: part({ timestamp: text, link: text }),
  failure: part({ errorMessage: text }),
});

export type SesNotification = z.infer<typeof notification>;
export type SesRecipient = z.infer<typeof recipient>;

/** @returns null when the text is not a JSON object, as SES's own notices in plain text. Never throws. */
export function parseNotification(messageText: string): SesNotification | null {
  try {
    return notification.safeParse(JSON.parse(messageText)).data ?? null;
  } catch {
    return null;
  }
}
