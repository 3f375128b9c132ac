import { LIMITS, parseId } from '@postrider/domain';
import type { AttemptCursor, AttemptStore, LoggedAttempt } from '@postrider/store';
import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { idField } from '../../http/id-field.ts';
import { parseQuery } from '../../http/query-fields.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { readCursor, writeCursor } from './attempt-cursor.ts';
import { responseText } from './response-text.ts';

const isLimit = (text: string): boolean => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= LIMITS.pageEntries;

const listed = z.object({
  event_id: idField('event', 'an event').optional(),
  after: z
    .string()
    .transform((text, context): AttemptCursor => {
      const cursor = readCursor(text);
      if (cursor !== null) return cursor;
      context.addIssue('is not a cursor of this list');
      return z.NEVER;
    })
    .optional(),
  limit: z
    .string()
    .refine(isLimit, { error: `is not a whole number from 1 to ${LIMITS.pageEntries}` })
    .transform(Number)
    .default(LIMITS.pageEntriesDefault),
});

/** `GET /v1/webhooks/{id}/attempts`: what its endpoint answered, the newest first. */
export function listAttempts(attempts: AttemptStore): Handle {
  return async ({ key, id: written, query }) => {
    const parsed = parseQuery(query, listed);
    if (!parsed.ok) return parsed.refusal;
    const { event_id: eventId, after, limit } = parsed.fields;
    const webhookId = parseId('webhook', written);
    const page =
      webhookId === null ? null : await attempts.list(key.accountId, { webhookId, eventId, after, limit });
    if (page === null) return noSuch('webhook');
    const last = page.hasMore ? page.entries.at(-1) : undefined;
    return json(200, {
      object: 'list',
      has_more: page.hasMore,
      next_cursor: last === undefined ? null : writeCursor(last.cursor),
      data: page.entries.map(attemptObject),
    });
  };
}

function attemptObject(attempt: LoggedAttempt) {
  return {
    object: 'attempt',
    event_id: attempt.eventId,
    type: attempt.type,
    attempt: attempt.attempt,
    started_at: attempt.startedAt.toISOString(),
    duration_ms: attempt.durationMs,
    status_code: attempt.statusCode,
    error: attempt.error,
    response: attempt.answer === null ? null : responseText(attempt.answer),
  };
}
