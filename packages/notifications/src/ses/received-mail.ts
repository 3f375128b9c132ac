import type { SesMail } from '@postrider/domain';
import { z } from 'zod';
import { parsedAs, text, texts } from './notification-shape.ts';

/*
 * Mail that SES received. Source: Amazon SES Developer Guide, "Contents of notifications for Amazon SES email
 * receiving".
 */

type ReceivedReading =
  | { readonly kind: 'received'; readonly mail: SesMail }
  | { readonly kind: 'ignored'; readonly why: string };

const verdict = z.object({ status: text }).nullable().catch(null);

const received = z.object({
  notificationType: z.literal('Received'),
  mail: z.object({ messageId: text, source: text }).catch({ messageId: null, source: null }),
  receipt: z.object({
    recipients: texts,
    action: z.object({ bucketName: text, objectKey: text }).catch({ bucketName: null, objectKey: null }),
    spamVerdict: verdict,
    virusVerdict: verdict,
    spfVerdict: verdict,
    dkimVerdict: verdict,
    dmarcVerdict: verdict,
    dmarcPolicy: text,
  }),
  content: z.string().nullable().catch(null),
});

type Received = z.infer<typeof received>;

/**
 * Reads the `Message` of an authentic SNS notification. Never throws, for any text.
 *
 * @returns null when the notification is not about received mail.
 */
export function readReceivedMail(messageText: string): ReceivedReading | null {
  const found = parsedAs(received, messageText);
  if (found === null) return null;
  const { mail, receipt, content } = found;
  const { recipients: written, action, ...verdicts } = receipt;
  const recipients = written.filter((recipient) => recipient !== null);
  const location = locationOf(content, action);
  if (mail.messageId === null) return { kind: 'ignored', why: 'received mail without an id' };
  if (recipients.length === 0) return { kind: 'ignored', why: 'received mail without a recipient' };
  if (location === null) return { kind: 'ignored', why: 'received mail of an action that keeps no content' };
  const source = (mail.source ?? '').replace(/^<(.*)>$/, '$1');
  return {
    kind: 'received',
    mail: { providerMessageId: mail.messageId, source, recipients, verdicts, location },
  };
}

/**
 * The notification of an SNS action holds the mail. That of an S3 action names the object. A rule with both
 * actions sends both notifications.
 */
function locationOf(
  content: Received['content'],
  { bucketName: bucket, objectKey: key }: Received['receipt']['action'],
): SesMail['location'] | null {
  if (content !== null && content !== '') return { kind: 'content', bytes: bytesOf(content) };
  return bucket === null || key === null ? null : { kind: 'object', bucket, key };
}

/** A message never consists of Base64 alone: SES adds headers, and these contain colons. */
const BASE64 = /^[A-Za-z0-9+/=\r\n]+$/;

/** The receipt rule chooses the encoding. The notification does not always name it. */
function bytesOf(content: string): Buffer {
  return Buffer.from(content, BASE64.test(content) ? 'base64' : 'utf8');
}
