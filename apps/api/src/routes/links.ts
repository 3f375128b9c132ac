import type { IncomingHttpHeaders } from 'node:http';
import type { BlobId, BlobStore, OpenBlob } from '@postrider/blobs';
import type { LinkTarget, LinkTokens } from '@postrider/domain';
import type { LinkedBytes, MessageStore } from '@postrider/store';
import { z } from 'zod';
import type { Answer, FileAnswer } from '../http/answer.ts';
import { byteRange } from '../http/byte-range.ts';
import { downloadHeaders } from '../http/content-disposition.ts';
import { linkExpired } from '../problems/answers.ts';
import type { Documented, KeylessRoute } from './route.ts';
import { time, url } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

/** Makes and reads the links to the bytes of received mail. */
export interface LinkMaker {
  readonly tokens: LinkTokens;
  /** The API's public URL. Undefined: each link has the origin of the request that asked for it. */
  readonly publicUrl: string | undefined;
}

export const link = z
  .object({ download_url: url.meta({ format: 'uri', description: 'Needs no key.' }), expires_at: time })
  .meta({ id: 'Link' });

/** @param origin of the request */
export function linkTo(
  { tokens, publicUrl }: LinkMaker,
  origin: string,
  target: LinkTarget,
): AnswerOf<typeof link> {
  const { token, expiresAt } = tokens.seal(target);
  return { download_url: `${publicUrl ?? origin}/links/${token}`, expires_at: expiresAt.toISOString() };
}

/** The store of the bytes. */
export type BlobReader = Pick<BlobStore, 'open' | 'sizeOf' | 'read'>;

/** RFC 6838 4.2: a type and a subtype. A parameter could give the bytes another meaning, so it is refused. */
const PLAIN_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/;

/**
 * Sends the bytes that a link leads to, whole or one range. @throws BlobStoreUnavailableError from `handle`
 */
export function openLink(
  messages: Pick<MessageStore, 'findLinked'>,
  links: Pick<LinkMaker, 'tokens'>,
  blobs: BlobReader,
): Documented<KeylessRoute> {
  return {
    method: 'get',
    path: '/links/:id',
    scope: null,
    docs: {
      operationId: 'openLink',
      summary: 'Get the bytes that a link leads to',
      description: 'Needs no key. A link is valid for seven days. `Range` may ask for one range.',
      success: { status: 200, body: 'file' },
      refusals: ['link-expired'],
    },
    async handle({ id: token, method, headers }) {
      const target = links.tokens.open(token);
      const linked = target === null ? null : await messages.findLinked(target);
      if (target === null || linked === null) return linkExpired;
      return bytesAnswer(blobs, linked.blob as BlobId, describe(target, linked), { method, headers });
    },
  };
}

type Description = Pick<FileAnswer, 'kind' | 'mediaType' | 'headers'>;

function describe({ messageId }: LinkTarget, { filename, contentType }: LinkedBytes): Description {
  const name = contentType === null ? `${messageId}.eml` : (filename ?? '');
  return {
    kind: 'file',
    mediaType: mediaTypeOf(contentType),
    headers: { ...downloadHeaders(name), 'accept-ranges': 'bytes' },
  };
}

function mediaTypeOf(contentType: string | null): string {
  if (contentType === null) return 'message/rfc822';
  return PLAIN_TYPE.test(contentType) ? contentType : 'application/octet-stream';
}

async function bytesAnswer(
  blobs: BlobReader,
  blob: BlobId,
  file: Description,
  { method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders },
): Promise<Answer> {
  if (method === 'HEAD') {
    const length = await blobs.sizeOf(blob);
    return length === null ? linkExpired : { ...file, status: 200, length, stream: null };
  }
  // If-Range names a version. No answer has named one, so it cannot be ours: the whole file is sent (RFC 9110
  // 13.1.5).
  const asked = headers['if-range'] === undefined ? headers.range : undefined;
  if (asked !== undefined) return rangeAnswer(blobs, blob, file, asked);
  return wholeAnswer(file, await blobs.open(blob));
}

async function rangeAnswer(
  blobs: BlobReader,
  blob: BlobId,
  file: Description,
  asked: string,
): Promise<Answer> {
  const size = await blobs.sizeOf(blob);
  if (size === null) return linkExpired;
  const range = byteRange(asked, size);
  if (range === null) return wholeAnswer(file, await blobs.open(blob));
  const of = (part: string) => ({ headers: { ...file.headers, 'content-range': `bytes ${part}/${size}` } });
  if (range === 'unsatisfiable') return { ...file, ...of('*'), status: 416, length: 0, stream: null };
  const opened = await blobs.open(blob, range);
  if (opened === null) return linkExpired;
  const length = range.end - range.start + 1;
  return { ...file, ...of(`${range.start}-${range.end}`), status: 206, length, stream: opened.stream };
}

function wholeAnswer(file: Description, opened: OpenBlob | null): Answer {
  if (opened === null) return linkExpired;
  return { ...file, status: 200, length: opened.size, stream: opened.stream };
}
