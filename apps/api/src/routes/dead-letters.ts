import { DEAD_LETTER_REASONS, idPattern, LIMITS, parseId, parseIsoTime, PATTERNS } from '@postrider/domain';
import type { EventType, WebhookId } from '@postrider/domain';
import type { DeadLetterCut, DeadLetterStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { optionalBody, resourceBody } from '../http/body-rules.ts';
import { noFields, parseFields, resourceFieldRule, strictFields } from '../http/fields.ts';
import { idField, parsedText, requestedEventType, requestedTime } from '../http/parsed-text.ts';
import { parseQuery } from '../http/query-fields.ts';
import { actorOf } from '../http/request-context.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { count, eventType, idOf, listOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'webhooks:manage', limited: true } as const;

export function deadLetterRoutes(deadLetters: DeadLetterStore): readonly Documented[] {
  return [listDeadLetters(deadLetters), replayDeadLetters(deadLetters), replayDeadLetter(deadLetters)];
}

const writtenText = z.string({ error: 'is not a string' });

const requestedReason = z.enum(DEAD_LETTER_REASONS, {
  error: ({ input }) =>
    typeof input === 'string' ? `is not one of ${DEAD_LETTER_REASONS.join(', ')}` : 'is not a string',
});

const since = requestedTime.optional().meta({ description: 'Made at this time or later.' });
const until = requestedTime.optional().meta({ description: 'Made before this time.' });

const deadLetterQuery = strictFields(
  {
    type: requestedEventType.optional().meta({ description: 'Of events of this type.' }),
    reason: requestedReason.optional().meta({ description: 'Of this reason.' }),
    webhook: idField('webhook', 'a webhook').optional().meta({ description: 'Of the webhook with this id.' }),
    since,
    until,
    after: idField('deadLetter', 'a dead letter')
      .optional()
      .meta({ description: 'Older than the dead letter with this id.' }),
  },
  'parameter',
);

const deadLetter = z.object({
  id: idOf('deadLetter'),
  webhook: idOf('webhook'),
  event_id: idOf('event'),
  type: eventType,
  attempts: count,
  reason: z.enum(DEAD_LETTER_REASONS),
  last_error: text,
  status_code: z.int().nullable(),
  created_at: time,
});
const deadLetterList = listOf(deadLetter).meta({
  id: 'DeadLetterList',
  description: `The newest ${LIMITS.deadLettersListed}.`,
});

/** Contract 4.4. */
function listDeadLetters(deadLetters: DeadLetterStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks/dead-letters',
    docs: {
      operationId: 'listDeadLetters',
      summary: 'List the newest dead letters',
      description: 'All parameters narrow the list; with `after` it goes on where another ended.',
      query: deadLetterQuery,
      success: { status: 200, body: deadLetterList },
      refusals: ['validation-failed'],
    },
    async handle({ key, query }) {
      const parsed = parseQuery(query, deadLetterQuery);
      if (!parsed.ok) return parsed.refusal;
      const { webhook: webhookId, after, ...filter } = parsed.fields;
      const page = await deadLetters.list(key.accountId, { ...filter, webhookId }, after);
      if (page === null) {
        return invalid(`after ${quoted(after)} is not the id of a dead letter of the account.`);
      }
      const data = page.entries.map((letter) => ({
        id: letter.id,
        webhook: letter.webhookId,
        event_id: letter.eventId,
        type: letter.type as EventType, // every event has a type of the catalogue
        attempts: letter.attempts,
        reason: letter.reason,
        last_error: letter.lastError,
        status_code: letter.statusCode,
        created_at: letter.createdAt.toISOString(),
      }));
      return json<AnswerOf<typeof deadLetterList>>(200, { object: 'list', data });
    },
  };
}

/** A time in ISO 8601 with its offset, or the id of a dead letter. */
const cut = parsedText(
  (written): DeadLetterCut | null => parseId('deadLetter', written) ?? parseIsoTime(written),
  'is neither a time such as 2026-11-20T10:00:00Z nor the id of a dead letter',
  { anyOf: [PATTERNS.isoTime, idPattern('deadLetter')].map((pattern) => ({ type: 'string', pattern })) },
);

const replayRequest = strictFields({
  // A malformed id gets the answer of a missing webhook, as in a path.
  webhook: writtenText.transform((written): WebhookId | null => parseId('webhook', written)),
  type: requestedEventType.optional(),
  reason: requestedReason.optional(),
  since,
  until,
  before: cut.optional().meta({ description: 'Older than this time, or than the dead letter with this id.' }),
}).meta({ id: 'ReplayRequest' });

const replayedDeadLetters = z
  .object({ replayed: z.int().min(0).max(LIMITS.deadLettersReplayed), remaining: count })
  .meta({ id: 'ReplayedDeadLetters' });

function replayDeadLetters(deadLetters: DeadLetterStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/webhooks/dead-letters/replay',
    body: resourceBody,
    docs: {
      operationId: 'replayDeadLetters',
      summary: 'Queue the events of a webhook’s dead letters again',
      description: `The oldest first, at most ${LIMITS.deadLettersReplayed} a request; \`remaining\` is how many still match.`,
      request: replayRequest,
      success: { status: 200, body: replayedDeadLetters },
      refusals: ['400 text', '422 text', 'validation-failed', 'not-found'],
    },
    async handle({ key, body }) {
      const parsed = parseFields(body, replayRequest, ['webhook'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { webhook: webhookId, ...filter } = parsed.fields;
      if (webhookId === null) return noSuch('webhook');
      const selection = { ...filter, webhookId };
      const outcome = await deadLetters.replayMatching(key.accountId, selection, actorOf(key));
      if (outcome.kind === 'no webhook') return noSuch('webhook');
      if (outcome.kind === 'no such cut') {
        return invalid(`before ${quoted(filter.before)} is not the id of a dead letter of the account.`);
      }
      const { replayed, remaining } = outcome;
      return json<AnswerOf<typeof replayedDeadLetters>>(200, { replayed, remaining });
    },
  };
}

const replayedDeadLetter = z
  .object({ id: idOf('deadLetter'), replayed: z.literal(true) })
  .meta({ id: 'ReplayedDeadLetter' });

/** Contract 4.5. */
function replayDeadLetter(deadLetters: DeadLetterStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/webhooks/dead-letters/:id/replay',
    body: optionalBody,
    docs: {
      operationId: 'replayDeadLetter',
      summary: 'Queue the event of a dead letter again',
      description: 'With a fresh set of attempts; the event keeps its id. The dead letter is gone.',
      request: noFields,
      success: { status: 200, body: replayedDeadLetter },
      refusals: ['400 text', 'validation-failed', 'not-found'],
    },
    async handle({ key, id: written, body }) {
      const parsed = parseFields(body ?? {}, noFields, [], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const id = parseId('deadLetter', written);
      if (id === null || !(await deadLetters.replay(key.accountId, id, actorOf(key))))
        return noSuch('dead letter');
      return json<AnswerOf<typeof replayedDeadLetter>>(200, { id, replayed: true });
    },
  };
}
