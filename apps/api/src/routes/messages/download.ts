import type { IncomingHttpHeaders } from 'node:http';
import type { BlobId, BlobStore, OpenBlob } from '@postrider/blobs';
import type { LinkTarget } from '@postrider/domain';
import type { LinkedBytes, MessageStore } from '@postrider/store';
import type { Answer, FileAnswer } from '../../http/answer.ts';
import { byteRange } from '../../http/byte-range.ts';
import { attachmentDisposition } from '../../http/content-disposition.ts';
import { linkExpired } from '../../problems/answers.ts';
import type { HandleKeyless } from '../route.ts';
import type { LinkMaker } from './link.ts';

/** Where the bytes are. */
export type BlobReader = Pick<BlobStore, 'open' | 'sizeOf'>;

/** RFC 6838 4.2: a type and a subtype, and no parameter, which could say that the bytes are something else. */
const PLAIN_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/;

/** The bytes are a stranger's: they run nothing in a browser, and are shown as nothing but what they are said to be. */
const HEADERS = { 'content-security-policy': 'sandbox', 'accept-ranges': 'bytes' };

/**
 * `GET /links/{token}`: the bytes that a link leads to, whole or a range of them.
 *
 * @throws BlobStoreUnavailableError
 */
export function openLink(
  messages: Pick<MessageStore, 'findLinked'>,
  links: Pick<LinkMaker, 'tokens'>,
  blobs: BlobReader,
): HandleKeyless {
  return async ({ id: token, method, headers }) => {
    const target = links.tokens.open(token);
    const linked = target === null ? null : await messages.findLinked(target);
    if (target === null || linked === null) return linkExpired;
    return answerBytes(blobs, linked.blob as BlobId, describe(target, linked), { method, headers });
  };
}

type Description = Pick<FileAnswer, 'kind' | 'mediaType' | 'headers'>;

function describe({ messageId }: LinkTarget, { filename, contentType }: LinkedBytes): Description {
  const name = contentType === null ? `${messageId}.eml` : (filename ?? '');
  return {
    kind: 'file',
    mediaType: mediaTypeOf(contentType),
    headers: { ...HEADERS, 'content-disposition': attachmentDisposition(name) },
  };
}

function mediaTypeOf(contentType: string | null): string {
  if (contentType === null) return 'message/rfc822';
  return PLAIN_TYPE.test(contentType) ? contentType : 'application/octet-stream';
}

async function answerBytes(
  blobs: BlobReader,
  blob: BlobId,
  file: Description,
  { method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders },
): Promise<Answer> {
  if (method === 'HEAD') {
    const length = await blobs.sizeOf(blob);
    return length === null ? linkExpired : { ...file, status: 200, length, stream: null };
  }
  // If-Range asks for a range of a version that no answer has named: it is another's (RFC 9110 13.1.5).
  const asked = headers['if-range'] === undefined ? headers.range : undefined;
  if (asked !== undefined) return answerRange(blobs, blob, file, asked);
  return whole(file, await blobs.open(blob));
}

async function answerRange(
  blobs: BlobReader,
  blob: BlobId,
  file: Description,
  asked: string,
): Promise<Answer> {
  const size = await blobs.sizeOf(blob);
  if (size === null) return linkExpired;
  const range = byteRange(asked, size);
  if (range === null) return whole(file, await blobs.open(blob));
  const of = (part: string) => ({ headers: { ...file.headers, 'content-range': `bytes ${part}/${size}` } });
  if (range === 'unsatisfiable') return { ...file, ...of('*'), status: 416, length: 0, stream: null };
  const opened = await blobs.open(blob, range);
  if (opened === null) return linkExpired;
  const length = range.end - range.start + 1;
  return { ...file, ...of(`${range.start}-${range.end}`), status: 206, length, stream: opened.stream };
}

function whole(file: Description, opened: OpenBlob | null): Answer {
  if (opened === null) return linkExpired;
  return { ...file, status: 200, length: opened.size, stream: opened.stream };
}
