import PostalMime from 'postal-mime';
import { decodeCharset } from './charset.ts';
import { oneLine, rawText, shortLine, storable } from './clean-text.ts';
import { joinFlowedLines } from './flowed-text.ts';
import { STRUCTURED_FIELD_CHARACTERS_MAX } from './limits.ts';
import type { ReceivedAttachment } from './parsed-message.ts';
import type { Part } from './parts.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/** RFC 2231 has several ways to write a name. */
const FILE_NAME_PARAMETERS = ['filename', 'filename*', 'filename*0', 'filename*0*'];

/** True for a text part that has no file name and is not declared an attachment. */
export function isBodyText({ mediaType, disposition }: Part): boolean {
  if (mediaType !== 'text/plain' && mediaType !== 'text/html') return false;
  const isNamed = FILE_NAME_PARAMETERS.some((name) => disposition.parameters.has(name));
  return disposition.value !== 'attachment' && !isNamed;
}

/** The text decoded, with LF, with the paragraphs of `format=flowed` (RFC 3676) joined. */
export function readText(part: Part): string {
  const parameter = (name: string): string | undefined =>
    part.contentType.parameters.get(name)?.toLowerCase();
  const text = storable(decodeCharset(contentOf(part), parameter('charset')));
  const isFlowed = part.mediaType === 'text/plain' && parameter('format') === 'flowed';
  return isFlowed ? joinFlowedLines(text, parameter('delsp') === 'yes') : text;
}

export async function readAttachment(part: Part): Promise<ReceivedAttachment> {
  return {
    filename: await fileNameOf(part),
    contentType: part.mediaType,
    contentId: shortLine(rawText(part.raw('content-id')).replaceAll(/[<>]/g, '')) || null,
    content: contentOf(part),
  };
}

function contentOf(part: Part): Buffer {
  return decodeTransfer(part.body, part.raw('content-transfer-encoding'));
}

/**
 * postal-mime decodes the names of RFC 2231 and RFC 2047. A name that looks like a path is cut to its last
 * part.
 */
async function fileNameOf(part: Part): Promise<string | null> {
  const parameters = (name: 'content-type' | 'content-disposition'): string =>
    rawText(part.raw(name).slice(0, STRUCTURED_FIELD_CHARACTERS_MAX)).replace(/^[^;]*/, '');
  const { attachments } = await PostalMime.parse(
    `Content-Type: application/octet-stream${parameters('content-type')}\n` +
      `Content-Disposition: attachment${parameters('content-disposition')}\n\n`,
  );
  const path = oneLine(attachments[0]?.filename ?? '');
  const name = shortLine(path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1));
  return name === '' || name === '.' || name === '..' ? null : name;
}
