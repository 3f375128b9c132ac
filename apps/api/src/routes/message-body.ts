import { Readable } from 'node:stream';
import { KeyedQueue } from '@postrider/limits';
import type { BodyPart, MessageDetails, MessageStore } from '@postrider/store';
import { z } from 'zod';
import { inPieces } from '../http/answer.ts';
import { downloadHeaders } from '../http/content-disposition.ts';
import { parseQuery } from '../http/query-fields.ts';
import { noSuch } from '../problems/answers.ts';
import { READ, withMessage } from './messages.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';

type BodyReader = Pick<MessageStore, 'find' | 'bodySize' | 'bodyPiece'>;

/** Bytes that one statement reads. */
const READ_BYTES = 1024 * 1024;
/** The end of a read may still be on its way when the next read arrives. */
const HELD_BYTES = 2 * READ_BYTES;
/** Postgres takes some 40 ms for a read from a body of 10 MiB. So the API does few at a time. */
const READS_IN_FLIGHT = { perKey: 1, total: 2 };

const bodyQuery = z.object({
  part: z.enum(['text', 'html'], { error: 'is neither text nor html' }).meta({ description: 'Which body.' }),
});

const FORMS = {
  text: { mediaType: 'text/plain; charset=utf-8', extension: 'txt' },
  html: { mediaType: 'text/html; charset=utf-8', extension: 'html' },
} as const;

/** Streams a whole body. Its stream fails when the message is deleted, or the key revoked, meanwhile. */
export function getMessageBody(messages: BodyReader): Documented<KeyedRoute> {
  const queue = new KeyedQueue(READS_IN_FLIGHT);
  return {
    ...READ,
    method: 'get',
    path: '/v1/inbound/messages/:id/body',
    docs: {
      operationId: 'getMessageBody',
      summary: 'Read the whole text or HTML of a received message',
      description: 'A download, in UTF-8.',
      query: bodyQuery,
      success: { status: 200, body: 'text' },
      refusals: ['not-found', 'held-needs-manage', 'validation-failed'],
    },
    async handle(request) {
      const parsed = parseQuery(request.query, bodyQuery, ['part']);
      if (!parsed.ok) return parsed.refusal;
      const { part } = parsed.fields;
      return withMessage(messages, request, async (message) => {
        const size = await messages.bodySize(message.id, part);
        if (size === null) return noSuch('part');
        const { mediaType, extension } = FORMS[part];
        return {
          kind: 'file',
          status: 200,
          mediaType,
          headers: downloadHeaders(`${message.id}.${extension}`),
          length: size,
          heldBytes: Math.min(size, HELD_BYTES),
          stream: Readable.from(pieces(messages, queue, { ...request, message, part, size }), {
            objectMode: false,
          }),
        };
      });
    },
  };
}

interface Asked extends Pick<RouteRequest, 'recheckKey'> {
  readonly message: MessageDetails;
  readonly part: BodyPart;
  readonly size: number;
}

async function* pieces(
  messages: BodyReader,
  queue: KeyedQueue,
  { message: { id, accountId }, part, size, recheckKey }: Asked,
): AsyncGenerator<Buffer> {
  for (let start = 0; start < size;) {
    const slot = queue.join(accountId, 1);
    let piece: Buffer | null;
    try {
      await slot.granted;
      if ((await recheckKey()) !== null) throw new Error('the key was refused meanwhile');
      piece = await messages.bodyPiece(id, part, start, READ_BYTES);
    } finally {
      slot.release();
    }
    if (piece === null || piece.length === 0) throw new Error(`the rest of ${id} is deleted`);
    yield* inPieces(piece);
    start += piece.length;
  }
}
