import { z } from 'zod';
import { hasControlCharacter, isWellFormed } from './email-address.ts';
import { LIMITS } from './limits.ts';
import { isMediaType } from './media-type.ts';

/** A file as a request brings it. */
export interface AttachmentDraft {
  readonly filename: string;
  /** As written, in base64: up to 5 MiB, decoded once and as late as can be. */
  readonly content: string;
  /** Null: told by the filename. */
  readonly contentType: string | null;
  /** Makes it inline: HTML shows it as `cid:<content id>`. */
  readonly contentId: string | null;
}

/** The last four characters show whether the padding is right and the bits that say nothing are zero (RFC 4648 3.5). */
const QUANTUM = 4;

/** Only what one encoder and no other would have written: the alphabet of RFC 4648 section 4, padded, on one line. */
export function isBase64(text: string): boolean {
  if (text.length % QUANTUM !== 0) return false;
  const last = text.slice(-QUANTUM);
  // A pattern of the whole would have to remember every quantum that it could step back to.
  return (
    !/[^A-Za-z0-9+/]/.test(text.slice(0, -QUANTUM)) && Buffer.from(last, 'base64').toString('base64') === last
  );
}

const filename = z
  .string({ error: 'must be a string' })
  .max(LIMITS.filenameLength, { error: `is longer than ${LIMITS.filenameLength} characters` })
  .refine((text) => text.trim() !== '', { error: 'is empty' })
  .refine((text) => !hasControlCharacter(text), { error: 'contains a control character' })
  .refine(isWellFormed, { error: 'contains half of a surrogate pair' });

const content = z.string({ error: 'must be a string' }).refine(isBase64, { error: 'is not valid base64' });

const contentType = z
  .string({ error: 'must be a string' })
  .refine(isMediaType, { error: 'is not a media type' })
  .nullish();

/** Between the angle brackets of a Content-ID only visible ASCII can stand (RFC 2392, RFC 5322 3.6.4). */
const contentId = z
  .string({ error: 'must be a string' })
  .regex(/^[\u0021-\u003b\u003d\u003f-\u007e]*$/, {
    error: 'contains a character that a Content-ID cannot have',
  })
  .min(1, { error: 'is empty' })
  .max(LIMITS.contentIdLength, { error: `is longer than ${LIMITS.contentIdLength} characters` })
  .nullish();

const attachment = z
  .object(
    {
      filename,
      content,
      content_type: contentType,
      content_id: contentId,
      path: z.null({ error: 'is not supported: nothing is fetched from elsewhere' }).optional(),
    },
    { error: 'must be an object with a filename and a content' },
  )
  .transform((written): AttachmentDraft => ({
    filename: written.filename,
    content: written.content,
    contentType: written.content_type ?? null,
    contentId: written.content_id ?? null,
  }));

/** Of a list that is too long, what is behind the limit is not looked into; its length is a fault of its own. */
export const attachmentsField = z.preprocess(
  (value) => (Array.isArray(value) ? (value.slice(0, LIMITS.attachments) as unknown[]) : (value ?? [])),
  z.array(attachment, { error: 'must be an array of attachments' }),
);
