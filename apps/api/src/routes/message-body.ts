import type { ByteRange } from '@postrider/blobs';
import { KeyedQueue } from '@postrider/limits';
import type { MessageStore } from '@postrider/store';
import { z } from 'zod';
import { downloadHeaders } from '../http/content-disposition.ts';
import { parseQuery } from '../http/query-fields.ts';
import { STORE_READS, streamInSlots } from '../http/stream-in-slots.ts';
import { noSuch } from '../problems/answers.ts';
import { READ, withMessage } from './messages.ts';
import type { Documented, KeyedRoute } from './route.ts';

const bodyQuery = z.object({
  part: z.enum(['text', 'html'], { error: 'is neither text nor html' }).meta({ description: 'Which body.' }),
});

const FORMS = {
  text: { mediaType: 'text/plain; charset=utf-8', extension: 'txt' },
  html: { mediaType: 'text/html; charset=utf-8', extension: 'html' },
} as const;

/** Streams a whole body. Its stream fails when the message is deleted, or the key revoked, meanwhile. */
export function getMessageBody(messages: MessageStore): Documented<KeyedRoute> {
  // Postgres takes some 40 ms for a read from a body of 10 MiB. So the API makes few such reads at a time.
  const queue = new KeyedQueue(STORE_READS);
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
        const read = async ({ start, end }: ByteRange): Promise<Buffer | null> => {
          if ((await request.recheckKey()) !== null) throw new Error('the key was refused meanwhile');
          return messages.bodyPiece(message.id, part, start, end - start + 1);
        };
        return {
          kind: 'file',
          status: 200,
          mediaType,
          headers: downloadHeaders(`${message.id}.${extension}`),
          ...streamInSlots({ owner: message.accountId, queue, read }, { start: 0, end: size - 1 }),
        };
      });
    },
  };
}
