import { isMediaType } from '@postrider/domain';
import type { SendMailOptions } from 'nodemailer';
import { detectMimeType } from 'nodemailer/lib/mime-funcs';
import type { OutgoingAttachment } from './mail-provider.ts';

const OPAQUE = 'application/octet-stream';
/**
 * These types hold a message or a list of parts (RFC 2046 section 5). They must not be encoded, so a 7-bit
 * server would change their bytes. A foreign boundary would also appear in our own structure. So such an
 * attachment gets the type OPAQUE.
 */
const COMPOSITE = /^(multipart|message)\//i;

/** The attachments for nodemailer. Always base64, so that every byte arrives unchanged. */
export function attachmentParts(
  attachments: readonly OutgoingAttachment[],
): NonNullable<SendMailOptions['attachments']> {
  return attachments.map(({ filename, content, contentType, contentId }) => ({
    filename,
    content,
    contentType: attachmentType({ filename, contentType }),
    contentTransferEncoding: 'base64',
    ...(contentId === null
      ? { contentDisposition: 'attachment' }
      : { contentDisposition: 'inline', cid: printable(contentId) }),
  }));
}

/** The type that recipients see. */
export function attachmentType({
  filename,
  contentType: given,
}: Pick<OutgoingAttachment, 'filename' | 'contentType'>): string {
  const contentType = given ?? detectMimeType(filename);
  return isMediaType(contentType) && !COMPOSITE.test(contentType) ? contentType : OPAQUE;
}

/** A Content-ID allows only visible ASCII between its angle brackets (RFC 2392, RFC 5322 3.6.4). */
function printable(contentId: string): string {
  return contentId.replaceAll(/[^\u0021-\u007e]|[<>]/g, '');
}
