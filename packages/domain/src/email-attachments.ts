import { z } from 'zod';
import { hasControlCharacter, isLongerThan } from './email-address.ts';
import { limitedList } from './limited-list.ts';
import { LIMITS } from './limits.ts';
import { isMediaType, MEDIA_TYPE_LENGTH } from './media-type.ts';
import { isBytes } from './request-digest.ts';
import { PATTERNS } from './text-patterns.ts';

/** A file in a send request. */
export interface AttachmentDraft {
  readonly filename: string;
  /** Base64, up to 5 MiB. It is decoded once, when it is stored. */
  readonly content: string;
  /** Null: derived from the filename. */
  readonly contentType: string | null;
  /** Makes the attachment inline: HTML shows it as `cid:<content id>`. */
  readonly contentId: string | null;
}

/** Characters of a base64 group. Padding and unused bits are only in the last group (RFC 4648 3.5). */
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
  .refine((text) => !isLongerThan(text, LIMITS.filenameLength), {
    error: `is longer than ${LIMITS.filenameLength} characters`,
  })
  .refine((text) => text.trim() !== '', { error: 'is empty' })
  .refine((text) => !hasControlCharacter(text), { error: 'contains a control character' })
  .refine((text) => text.isWellFormed(), { error: 'contains half of a surrogate pair' })
  .meta({ maxLength: LIMITS.filenameLength, pattern: PATTERNS.shownLine });

/**
 * The bytes of a content that is not base64. Resend's SDKs for Go and Python send an array of bytes. Its SDK
 * for Node up to 6.36 sends a Buffer as `JSON.stringify` writes it. Null: the content is neither.
 */
function bytesIn(written: unknown): readonly unknown[] | null {
  if (Array.isArray(written)) return written as unknown[];
  if (typeof written !== 'object' || written === null) return null;
  const { type, data } = written as { readonly type?: unknown; readonly data?: unknown };
  return type === 'Buffer' && Array.isArray(data) ? (data as unknown[]) : null;
}

/** The length of a content in base64, for the limit of a message. A value of another type has 0. */
export function contentLength(written: unknown): number {
  if (typeof written === 'string') return Buffer.byteLength(written);
  return base64Length(bytesIn(written)?.length ?? 0);
}

/** Base64 writes three bytes as four characters. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * QUANTUM;
}

const BYTES = { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } };

const content = z
  // `z.array` would take a second for a million bytes.
  .unknown()
  .transform((written, context): string => {
    const bytes = bytesIn(written);
    if (bytes !== null && isBytes(bytes)) return Buffer.from(bytes).toString('base64');
    if (typeof written === 'string' && isBase64(written)) return written;
    const isText = typeof written === 'string';
    context.addIssue(isText ? 'is not valid base64' : 'must be base64 or an array of bytes');
    return z.NEVER;
  })
  .meta({
    description: 'In base64, or its bytes as Resend’s SDKs send them.',
    anyOf: [
      { type: 'string', contentEncoding: 'base64', pattern: PATTERNS.base64 },
      BYTES,
      { type: 'object', required: ['type', 'data'], properties: { type: { const: 'Buffer' }, data: BYTES } },
    ],
  });

const contentType = z
  .string({ error: 'must be a string' })
  .refine(isMediaType, { error: 'is not a media type' })
  .meta({ pattern: PATTERNS.mediaType, maxLength: MEDIA_TYPE_LENGTH })
  .nullish();

/** A Content-ID allows only visible ASCII between its angle brackets (RFC 2392, RFC 5322 3.6.4). */
export const CONTENT_ID = /^[!-;=?-~]*$/;

const contentId = z
  .string({ error: 'must be a string' })
  .regex(CONTENT_ID, { error: 'contains a character that a Content-ID cannot have' })
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
      inline_content_id: contentId.meta({ description: 'The same as `content_id`, which wins.' }),
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
    contentId: written.content_id ?? written.inline_content_id ?? null,
  }));

export const attachmentsField = limitedList(
  LIMITS.attachments,
  attachment,
  'must be an array of attachments',
);
