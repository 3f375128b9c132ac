import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { BlobId, BlobStore, ByteRange, OpenBlob } from '@postrider/blobs';
import type { LinkTarget, LinkTokens, ReceivedBytes, SentAttachment } from '@postrider/domain';
import { attachmentType } from '@postrider/mail';
import type { EmailStore, MessageStore } from '@postrider/store';
import { z } from 'zod';
import { inPieces } from '../http/answer.ts';
import type { Answer, FileAnswer } from '../http/answer.ts';
import { byteRange } from '../http/byte-range.ts';
import { downloadHeaders } from '../http/content-disposition.ts';
import { linkExpired } from '../problems/answers.ts';
import type { Documented, KeylessRoute } from './route.ts';
import { time, url } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

/** Makes and reads the links to the bytes of mail. */
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

interface LinkedStores {
  readonly messages: Pick<MessageStore, 'findLinked'>;
  readonly emails: Pick<EmailStore, 'findLinked'>;
}

/**
 * Sends the bytes that a link leads to, whole or one range. @throws BlobStoreUnavailableError from `handle`
 */
export function openLink(
  stores: LinkedStores,
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
      if (target === null) return linkExpired;
      const linked =
        'emailId' in target
          ? await sentBytes(stores.emails, target)
          : await receivedBytes(stores.messages, blobs, target);
      return linked === null ? linkExpired : bytesAnswer(linked, { method, headers });
    },
  };
}

type Description = Pick<FileAnswer, 'kind' | 'mediaType' | 'headers' | 'heldBytes'>;

/** Bytes that can be read whole or in a range. Null: they are deleted. */
interface Linked {
  readonly file: Description;
  readonly size: () => Promise<number | null>;
  readonly open: (range?: ByteRange) => Promise<OpenBlob | null>;
}

async function receivedBytes(
  messages: LinkedStores['messages'],
  blobs: BlobReader,
  target: ReceivedBytes,
): Promise<Linked | null> {
  const linked = await messages.findLinked(target);
  if (linked === null) return null;
  const { contentType, filename } = linked;
  const blob = linked.blob as BlobId;
  return {
    file: describe(
      contentType === null ? `${target.messageId}.eml` : (filename ?? ''),
      contentType ?? 'message/rfc822',
    ),
    size: () => blobs.sizeOf(blob),
    open: (range) => blobs.open(blob, range),
  };
}

/** The whole content is in memory while it is sent: at most 5 MiB. */
async function sentBytes(emails: LinkedStores['emails'], target: SentAttachment): Promise<Linked | null> {
  const linked = await emails.findLinked(target);
  if (linked === null) return null;
  const content = Buffer.from(linked.content.buffer, linked.content.byteOffset, linked.content.byteLength);
  return {
    file: { ...describe(linked.filename, attachmentType(linked)), heldBytes: content.length },
    size: async () => content.length,
    open: async ({ start, end } = { start: 0, end: content.length - 1 }) => ({
      size: content.length,
      stream: Readable.from(inPieces(content.subarray(start, end + 1)), { objectMode: false }),
    }),
  };
}

function describe(filename: string, contentType: string): Description {
  return {
    kind: 'file',
    mediaType: PLAIN_TYPE.test(contentType) ? contentType : 'application/octet-stream',
    headers: { ...downloadHeaders(filename), 'accept-ranges': 'bytes' },
  };
}

async function bytesAnswer(
  linked: Linked,
  { method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders },
): Promise<Answer> {
  const { file } = linked;
  if (method === 'HEAD') {
    const length = await linked.size();
    return length === null ? linkExpired : { ...file, status: 200, length, stream: null };
  }
  // If-Range names a version. No answer has named one, so it cannot be ours: the whole file is sent (RFC 9110
  // 13.1.5).
  const asked = headers['if-range'] === undefined ? headers.range : undefined;
  if (asked !== undefined) return rangeAnswer(linked, asked);
  return wholeAnswer(file, await linked.open());
}

async function rangeAnswer({ file, ...linked }: Linked, asked: string): Promise<Answer> {
  const size = await linked.size();
  if (size === null) return linkExpired;
  const range = byteRange(asked, size);
  if (range === null) return wholeAnswer(file, await linked.open());
  const of = (part: string) => ({ headers: { ...file.headers, 'content-range': `bytes ${part}/${size}` } });
  if (range === 'unsatisfiable') return { ...file, ...of('*'), status: 416, length: 0, stream: null };
  const opened = await linked.open(range);
  if (opened === null) return linkExpired;
  const length = range.end - range.start + 1;
  return { ...file, ...of(`${range.start}-${range.end}`), status: 206, length, stream: opened.stream };
}

function wholeAnswer(file: Description, opened: OpenBlob | null): Answer {
  if (opened === null) return linkExpired;
  return { ...file, status: 200, length: opened.size, stream: opened.stream };
}
