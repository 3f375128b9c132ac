import { z } from 'zod';
import { hasControlCharacter } from './email-address.ts';
import { limitedList } from './limited-list.ts';
import { LIMITS } from './limits.ts';
import { isMediaType } from './media-type.ts';

/** A file in a send request. */
export interface AttachmentDraft {
  readonly filename: string;
  /** Base64 as written, up to 5 MiB. It is decoded once, when it is stored. */
  readonly content: string;
  /** Null: derived from the filename. */
  readonly contentType: string | null;
  /** Makes the attachment inline: HTML shows it as `cid:<content id>`. */
  readonly contentId: string | null;
}

/** Padding and unused bits are in the last four characters (RFC 4648 3.5). */
const QUANTUM = 4;

/** Accepts one encoding per value: the alphabet of RFC 4648 section 4, padded, on one line. */
export function isBase64(text: string): boolean {
  if (text.length % QUANTUM !== 0) return false;
  const last = text.slice(-QUANTUM);
  // A pattern for the whole text would store a backtracking position for each group of four characters.
  return (
    !/[^A-Za-z0-9+/]/.test(text.slice(0, -QUANTUM)) && Buffer.from(last, 'base64').toString('base64') === last
  );
}

const filename = z
  .string({ error: 'must be a string' })
  .max(LIMITS.filenameLength, { error: `is longer than ${LIMITS.filenameLength} characters` })
  .refine((text) => text.trim() !== '', { error: 'is empty' })
  .refine((text) => !hasControlCharacter(text), { error: 'contains a control character' })
  .refine((text) => text.isWellFormed(), { error: 'contains half of a surrogate pair' })
  .meta({ minLength: 1 });

const content = z
  .string({ error: 'must be a string' })
  .refine(isBase64, { error: 'is not valid base64' })
  .meta({ contentEncoding: 'base64' });

const contentType = z
  .string({ error: 'must be a string' })
  .refine(isMediaType, { error: 'is not a media type' })
  .nullish();

/** A Content-ID allows only visible ASCII between its angle brackets (RFC 2392, RFC 5322 3.6.4). */
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
      path: z
        .null({ error: 'is not supported: nothing is fetched from elsewhere' })
        .optional()
        .meta({ description: 'Not supported.' }),
    },
    { error: 'must be an object with a filename and a content' },
  )
  .transform((written): AttachmentDraft => ({
    filename: written.filename,
    content: written.content,
    contentType: written.content_type ?? null,
    contentId: written.content_id ?? null,
  }));

export const attachmentsField = limitedList(
  LIMITS.attachments,
  attachment,
  'must be an array of attachments',
);
