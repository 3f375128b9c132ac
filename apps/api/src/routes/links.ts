import type { IncomingHttpHeaders } from 'node:http';
import type { BlobId, BlobStore } from '@postrider/blobs';
import type { LinkTarget, LinkTokens, ReceivedBytes, SentAttachment } from '@postrider/domain';
import { KeyedQueue } from '@postrider/limits';
import { attachmentType } from '@postrider/mail';
import type { EmailStore, MessageStore } from '@postrider/store';
import { z } from 'zod';
import { AccountSlots } from '../http/account-slots.ts';
import type { Answer, FileAnswer } from '../http/answer.ts';
import { byteRange } from '../http/byte-range.ts';
import { downloadHeaders } from '../http/content-disposition.ts';
import { STORE_READS, streamInSlots } from '../http/stream-in-slots.ts';
import type { StoredBytes } from '../http/stream-in-slots.ts';
import { linkExpired } from '../problems/answers.ts';
import type { RouteStores } from '../stores.ts';
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

/** Reads the bytes of received mail. Attachments of sent mail are in Postgres. */
export type BlobReader = Pick<BlobStore, 'open' | 'sizeOf' | 'read'>;

/** RFC 6838 4.2: a type and a subtype. A parameter could give the bytes another meaning, so it is refused. */
const PLAIN_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/;

/**
 * A lookup asks Postgres and the blob store. Half of the connections to S3 stay free. An address may have 256
 * connections, so as many requests may wait.
 */
const LOOKUPS = { inFlightMax: 8, waitingMax: 256, waitMs: 10_000, totalInFlightMax: 32 };

/**
 * Sends the bytes that a link leads to, whole or one range. @throws BlobStoreUnavailableError from `handle`
 */
export function openLink(
  { messages, emails }: RouteStores,
  links: Pick<LinkMaker, 'tokens'>,
  blobs: BlobReader,
): Documented<KeylessRoute> {
  // Reads from Postgres share its connections with all other routes.
  const contentQueue = new KeyedQueue(STORE_READS);
  // Reads from the blob store at once: 4 for an account, 16 in all.
  const blobQueue = new KeyedQueue({ perKey: 4, total: 16 });
  return {
    method: 'get',
    path: '/links/:id',
    scope: null,
    slotPerClient: new AccountSlots(LOOKUPS, null),
    docs: {
      operationId: 'openLink',
      summary: 'Get the bytes that a link leads to',
      description: 'Needs no key. A link is valid for seven days.',
      success: { status: 200, body: 'file' },
      refusals: ['link-expired'],
    },
    async handle({ id: token, method, headers }) {
      const target = links.tokens.open(token);
      if (target === null) return linkExpired;
      const linked =
        'emailId' in target
          ? await sentBytes(emails, contentQueue, target)
          : await receivedBytes(messages, blobs, blobQueue, target);
      return linked === null ? linkExpired : bytesAnswer(linked, { method, headers });
    },
  };
}

type Description = Pick<FileAnswer, 'kind' | 'mediaType' | 'headers'>;

/** Bytes that can be read whole or in a range. */
interface Linked extends StoredBytes {
  readonly file: Description;
  readonly size: number;
}

async function receivedBytes(
  messages: MessageStore,
  blobs: BlobReader,
  queue: KeyedQueue,
  target: ReceivedBytes,
): Promise<Linked | null> {
  const linked = await messages.findLinked(target);
  if (linked === null) return null;
  const { contentType, filename } = linked;
  const blob = linked.blob as BlobId;
  const size = await blobs.sizeOf(blob);
  if (size === null) return null;
  const isRawMessage = contentType === null;
  return {
    file: isRawMessage
      ? describe(`${target.messageId}.eml`, 'message/rfc822')
      : describe(filename ?? '', contentType),
    size,
    owner: linked.accountId,
    queue,
    async read(range) {
      const opened = await blobs.open(blob, range);
      return opened === null ? null : Buffer.concat((await opened.stream.toArray()) as Buffer[]);
    },
  };
}

async function sentBytes(
  emails: EmailStore,
  queue: KeyedQueue,
  target: SentAttachment,
): Promise<Linked | null> {
  const linked = await emails.findLinked(target);
  if (linked === null) return null;
  return {
    file: describe(linked.filename, attachmentType(linked)),
    size: linked.size,
    owner: linked.accountId,
    queue,
    read: ({ start, end }) => emails.attachmentPiece(target, start, end - start + 1),
  };
}

function describe(filename: string, contentType: string): Description {
  return {
    kind: 'file',
    mediaType: PLAIN_TYPE.test(contentType) ? contentType : 'application/octet-stream',
    headers: { ...downloadHeaders(filename), 'accept-ranges': 'bytes' },
  };
}

function bytesAnswer(
  linked: Linked,
  { method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders },
): Answer {
  const { file, size } = linked;
  if (method === 'HEAD') return { ...file, status: 200, length: size, stream: null };
  // If-Range names a version. No answer has named one, so it cannot be ours: the whole file is sent (RFC 9110
  // 13.1.5).
  const range = byteRange(headers['if-range'] === undefined ? headers.range : undefined, size);
  if (range === null) return { ...file, status: 200, ...streamInSlots(linked, { start: 0, end: size - 1 }) };
  const fileWithRange = (part: string): Description => ({
    ...file,
    headers: { ...file.headers, 'content-range': `bytes ${part}/${size}` },
  });
  if (range === 'unsatisfiable') return { ...fileWithRange('*'), status: 416, length: 0, stream: null };
  return { ...fileWithRange(`${range.start}-${range.end}`), status: 206, ...streamInSlots(linked, range) };
}
