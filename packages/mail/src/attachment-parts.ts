import { isMediaType } from '@postrider/domain';
import type { SendMailOptions } from 'nodemailer';
import { detectMimeType } from 'nodemailer/lib/mime-funcs';
import type { OutgoingAttachment } from './mail-provider.ts';

const OPAQUE = 'application/octet-stream';
/**
 * RFC 2046 section 5: types whose body is itself a message or parts. They may not be encoded, so their bytes would
 * not survive a server that takes 7-bit lines only; and a boundary of somebody else's would end up in our structure.
 */
const COMPOSITE = /^(multipart|message)\//i;

/** The attachments as the composer takes them: always base64, so that what arrives is byte for byte what was sent. */
export function attachmentParts(
  attachments: readonly OutgoingAttachment[],
): NonNullable<SendMailOptions['attachments']> {
  return attachments.map(({ filename, content, contentType, contentId }) => ({
    filename,
    content,
    contentType: partType(contentType ?? detectMimeType(filename)),
    contentTransferEncoding: 'base64',
    ...(contentId === null
      ? { contentDisposition: 'attachment' }
      : { contentDisposition: 'inline', cid: printable(contentId) }),
  }));
}

function partType(contentType: string): string {
  return isMediaType(contentType) && !COMPOSITE.test(contentType) ? contentType : OPAQUE;
}

/** Between the angle brackets of a Content-ID only visible ASCII can stand (RFC 2392, RFC 5322 3.6.4). */
function printable(contentId: string): string {
  return contentId.replaceAll(/[^\u0021-\u007e]|[<>]/g, '');
}
