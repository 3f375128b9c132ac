import { parseId, PATTERNS } from '@postrider/domain';
import type { AttemptCursor, AttemptStore, LoggedAttempt } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { idField, parsedText } from '../http/parsed-text.ts';
import { limitParameter, parseQuery } from '../http/query-fields.ts';
import { noSuch } from '../problems/answers.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { count, idOf, nullableText, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const attemptQuery = z.object({
  event_id: idField('event', 'an event').optional().meta({ description: 'Of the event with this id.' }),
  after: parsedText(readCursor, 'is not a cursor of this list')
    .optional()
    .meta({ pattern: PATTERNS.cursor, description: 'The `next_cursor` of the page before.' }),
  limit: limitParameter,
});

const attempt = z.object({
  object: z.literal('attempt'),
  event_id: idOf('event'),
  type: nullableText.meta({ description: 'Of the event; null for attempts of older versions.' }),
  attempt: z.int().min(1).meta({ description: '1 for the first of its set.' }),
  started_at: time,
  duration_ms: count,
  status_code: z.int().nullable().meta({ description: 'null: no answer came.' }),
  error: nullableText,
  response: nullableText.meta({ description: 'The beginning of the answer’s body, at most 1 KiB.' }),
});
const attemptPage = z
  .object({
    object: z.literal('list'),
    has_more: z.boolean(),
    next_cursor: nullableText.meta({
      description: 'Opaque: the `after` of the next page; null on the last.',
    }),
    data: z.array(attempt),
  })
  .meta({ id: 'AttemptPage' });

export function listAttempts(attempts: AttemptStore): Documented<KeyedRoute> {
  return {
    method: 'get',
    path: '/v1/webhooks/:id/attempts',
    scope: 'webhooks:manage',
    limited: true,
    docs: {
      operationId: 'listAttempts',
      summary: 'List what the endpoint of a webhook answered, newest first',
      description: 'As long as the operator keeps the log of attempts.',
      query: attemptQuery,
      success: { status: 200, body: attemptPage },
      refusals: ['not-found', 'validation-failed'],
    },
    async handle({ key, id: written, query }) {
      const parsed = parseQuery(query, attemptQuery);
      if (!parsed.ok) return parsed.refusal;
      const { event_id: eventId, after, limit } = parsed.fields;
      const webhookId = parseId('webhook', written);
      const page =
        webhookId === null ? null : await attempts.list(key.accountId, { webhookId, eventId, after, limit });
      if (page === null) return noSuch('webhook');
      const last = page.hasMore ? page.entries.at(-1) : undefined;
      return json<AnswerOf<typeof attemptPage>>(200, {
        object: 'list',
        has_more: page.hasMore,
        next_cursor: last === undefined ? null : writeCursor(last.cursor),
        data: page.entries.map(attemptObject),
      });
    },
  };
}

function attemptObject(logged: LoggedAttempt): AnswerOf<typeof attempt> {
  return {
    object: 'attempt',
    event_id: logged.eventId,
    type: logged.type,
    attempt: logged.attempt,
    started_at: logged.startedAt.toISOString(),
    duration_ms: logged.durationMs,
    status_code: logged.statusCode,
    error: logged.error,
    response: logged.answer === null ? null : responseText(logged.answer),
  };
}

/** The largest values of the columns that a cursor names: a delivery's id and the number of an attempt. */
const BIGINT_MAX = 2n ** 63n - 1n;
const SMALLINT_MAX = 2 ** 15 - 1;
/** The last microsecond that a JavaScript date can have. Postgres has later ones. */
const STARTED_US_MAX = 8_640_000_000_000_000_000n;

/** Writes a cursor as customers get it. To them it is opaque. */
export function writeCursor({ startedUs, deliveryId, attempt: number }: AttemptCursor): string {
  return Buffer.from(`${startedUs}.${deliveryId}.${number}`).toString('base64url');
}

/** @returns null for a text that `writeCursor` does not write */
export function readCursor(text: string): AttemptCursor | null {
  const parts = /^(\d{1,19})\.(\d{1,19})\.(\d{1,5})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (parts === null) return null;
  const [, startedUs = '', deliveryId = '', number = ''] = parts;
  const cursor = { startedUs: BigInt(startedUs), deliveryId: BigInt(deliveryId), attempt: Number(number) };
  const fits =
    cursor.startedUs <= STARTED_US_MAX && cursor.deliveryId <= BIGINT_MAX && cursor.attempt <= SMALLINT_MAX;
  return fits && writeCursor(cursor) === text ? cursor : null;
}

const RESPONSE_BYTES_MAX = 1024;

/**
 * Returns the first bytes of an endpoint's answer as text of at most 1 KiB in UTF-8. A character that is cut
 * at the end is left out. Each invalid byte becomes U+FFFD, which takes three bytes, so the text may need a
 * second cut.
 */
export function responseText(bytes: Uint8Array): string {
  const text = decoded(bytes);
  const encoded = Buffer.from(text);
  return encoded.length <= RESPONSE_BYTES_MAX ? text : decoded(encoded.subarray(0, RESPONSE_BYTES_MAX));
}

/** Decodes as part of a stream, so that the decoder holds back an incomplete character at the end. */
function decoded(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}
