import { z } from 'zod';

/*
 * The parts that we read of an SES notification, in both formats: event publishing (`eventType`) and identity
 * notifications (`notificationType`). Source: Amazon SES Developer Guide, "Contents of event data that Amazon
 * SES publishes to Amazon SNS" and "Amazon SNS notification contents for Amazon SES".
 *
 * SES may add fields and values at any time. So this schema rejects no JSON object. A missing field, or one
 * with another type, becomes null or an empty list. Unlisted fields are ignored.
 */

/** PostgreSQL cannot store NUL, and a lone surrogate has no UTF-8 form. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

export const text = z.string().min(1).transform(storable).nullable().catch(null);
export const texts = z.array(text).catch([]);

/** True: a program opened or clicked. Since 2026-08, SES says `Likely` or `Unlikely`. Null: unknown. */
const isBotEvent = z
  .union([z.boolean(), z.enum(['Likely', 'Unlikely']).transform((word) => word === 'Likely')])
  .nullable()
  .catch(null);

const recipient = z
  .object({ emailAddress: text, diagnosticCode: text })
  .catch({ emailAddress: null, diagnosticCode: null });
const recipients = z.array(recipient).catch([]);

const headers = z.array(z.object({ name: text, value: text }).catch({ name: null, value: null })).catch([]);

function part<T extends z.ZodRawShape>(shape: T) {
  const object = z.object(shape);
  // Every field has a value for "missing", so an empty object always fits the shape.
  return object.catch(() => object.parse({}));
}

export const notification = z.object({
  eventType: text,
  notificationType: text,
  mail: part({
    timestamp: text,
    messageId: text,
    destination: texts,
    /** The sender's headers. Identity notifications contain them when the identity is configured so. */
    headers,
    /** Only event publishing has tags. */
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
  open: part({ timestamp: text, isBotEvent }),
  click: part({ timestamp: text, link: text, isBotEvent }),
  failure: part({ errorMessage: text }),
});

export type SesNotification = z.infer<typeof notification>;
export type SesRecipient = z.infer<typeof recipient>;

/** Never throws. @returns null when the text is not JSON of this shape, such as SES's set-up notice. */
export function parsedAs<Shape>(schema: z.ZodType<Shape>, messageText: string): Shape | null {
  try {
    return schema.safeParse(JSON.parse(messageText)).data ?? null;
  } catch {
    return null;
  }
}
