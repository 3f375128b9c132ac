import { z } from 'zod';
import { utcTimestamp } from '../utc-timestamp.ts';

/*
 * An SNS message, as SNS posts it to an HTTPS subscriber.
 * Source: Amazon SNS Developer Guide, "Parsing Amazon SNS message formats".
 */

/** A lone surrogate has no UTF-8 form: in signed bytes it would look like U+FFFD. */
const wellFormed = z.string().refine((text) => text.isWellFormed(), 'holds half of a character');

/**
 * In the signed text, each value is one line. With line breaks in a value, an attacker could move the border
 * between two values without changing the signed text. Only `Message`, the first value, may have them.
 */
const token = z.string().regex(/^[!-~]{1,4096}$/, 'must be printable text without spaces');
const line = wellFormed.refine((text) => !/[\u0000-\u001f\u007f]/.test(text), 'holds a control character');

const signed = {
  MessageId: token,
  TopicArn: token,
  Message: wellFormed,
  Timestamp: token.refine((text) => utcTimestamp(text) !== null, 'must be an ISO 8601 time'),
  SignatureVersion: z.enum(['1', '2']),
  Signature: token,
  SigningCertURL: z.string(), // `parseSigningCertUrl` checks it
};
const confirmation = { ...signed, Token: token, SubscribeURL: token };

export const snsMessage = z
  .discriminatedUnion('Type', [
    z.object({ Type: z.literal('Notification'), ...signed, Subject: line.nullish() }),
    z.object({ Type: z.literal('SubscriptionConfirmation'), ...confirmation }),
    z.object({ Type: z.literal('UnsubscribeConfirmation'), ...confirmation }),
  ])
  .meta({
    id: 'SnsMessage',
    description: 'As SNS posts it: Amazon SNS Developer Guide, "Parsing Amazon SNS message formats".',
  });

/** A well-formed message that is not authenticated yet. Fields that are not listed above are dropped. */
export type SnsEnvelope = z.infer<typeof snsMessage>;
export type SnsSubscriptionConfirmation = Extract<SnsEnvelope, { Type: 'SubscriptionConfirmation' }>;

export type EnvelopeParse =
  | { readonly kind: 'envelope'; readonly envelope: SnsEnvelope }
  | { readonly kind: 'bad_envelope'; readonly why: string };

/**
 * Parses the body of a request. Never throws, for any bytes.
 *
 * @param bytes the whole body. The caller has limited its size. The Content-Type does not matter: SNS sends
 *   text/plain.
 * @returns `why` is one line that names the field at fault, but not its value.
 */
export function parseSnsEnvelope(bytes: Uint8Array): EnvelopeParse {
  const json = parseJson(bytes);
  if (json === undefined) return { kind: 'bad_envelope', why: 'the body is not JSON in UTF-8' };
  const parsed = snsMessage.safeParse(json);
  if (parsed.success) return { kind: 'envelope', envelope: parsed.data };
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') ?? '';
  return {
    kind: 'bad_envelope',
    why: field === '' ? 'the body is no object' : `${field}: ${issue?.message ?? ''}`,
  };
}

/** @returns undefined when the bytes are not JSON. No JSON text parses to undefined. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
