import { z } from 'zod';
import { utcTimestamp } from '../utc-timestamp.ts';

/*
 * An SNS message as it is posted to an HTTPS subscriber.
 * Source: Amazon SNS Developer Guide, "Parsing Amazon SNS message formats".
 */

/** Half of a surrogate pair has no UTF-8 of its own: signed bytes would not tell it from U+FFFD. */
const wellFormed = z.string().refine((text) => !/\p{Surrogate}/u.test(text), 'holds half of a character');

/**
 * One line of the signed text. A line break inside would let the border between two signed fields be moved
 * without changing the signed text; only `Message`, which comes first, may hold one.
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
  SigningCertURL: z.string(),
};
const confirmation = { ...signed, Token: token, SubscribeURL: token };

const envelope = z.discriminatedUnion('Type', [
  z.object({ Type: z.literal('Notification'), ...signed, Subject: line.nullish() }),
  z.object({ Type: z.literal('SubscriptionConfirmation'), ...confirmation }),
  z.object({ Type: z.literal('UnsubscribeConfirmation'), ...confirmation }),
]);

/** A well-formed message that nobody vouches for yet. Fields that are not listed above are dropped. */
export type SnsEnvelope = z.infer<typeof envelope>;
export type SnsSubscriptionConfirmation = Extract<SnsEnvelope, { Type: 'SubscriptionConfirmation' }>;

export type EnvelopeParse =
  | { readonly kind: 'envelope'; readonly envelope: SnsEnvelope }
  | { readonly kind: 'bad_envelope'; readonly why: string };

/**
 * Reads the body of a request. Never throws, whatever the bytes.
 *
 * @param bytes the whole body, whose size the caller has bounded; the Content-Type does not matter (SNS sends text/plain)
 * @returns with `why` one line that names the field, never its value
 */
export function parseSnsEnvelope(bytes: Uint8Array): EnvelopeParse {
  const json = parseJson(bytes);
  if (json === undefined) return { kind: 'bad_envelope', why: 'the body is not JSON in UTF-8' };
  const parsed = envelope.safeParse(json);
  if (parsed.success) return { kind: 'envelope', envelope: parsed.data };
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') ?? '';
  return {
    kind: 'bad_envelope',
    why: field === '' ? 'the body is no object' : `${field}: ${issue?.message ?? ''}`,
  };
}

/** @returns undefined, which no JSON text means, when the bytes are no JSON */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
