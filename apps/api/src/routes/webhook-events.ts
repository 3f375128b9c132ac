import { parseId } from '@postrider/domain';
import { DELIVERY_FATES, WEBHOOK_EVENT_STATUSES } from '@postrider/store';
import type { AttemptStore, LoggedAttempt, WebhookEvent, WebhookEventStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { optionalBody } from '../http/body-rules.ts';
import { noFields, parseFields, resourceFieldRule, strictFields } from '../http/fields.ts';
import { parsedText } from '../http/parsed-text.ts';
import { limitParameter, parseQuery } from '../http/query-fields.ts';
import { actorOf } from '../http/request-context.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { readCursor, responseText, writeCursor } from './attempts.ts';
import { envelopeOf, event, eventFilterParameters, unknownEvent, writeEventCursor } from './events.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';
import { count, eventType, idOf, named, nullableText, pageOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'webhooks:manage', limited: true } as const;

export function webhookEventRoutes(events: WebhookEventStore, attempts: AttemptStore): readonly Documented[] {
  return [
    listWebhookEvents(events),
    getWebhookEvent(events),
    listEventAttempts(events, attempts),
    replayEvent(events),
  ];
}

const webhookEventQuery = strictFields(
  {
    status: z
      .enum(WEBHOOK_EVENT_STATUSES, { error: `is not one of ${WEBHOOK_EVENT_STATUSES.join(', ')}` })
      .optional()
      .meta({ description: 'With this status.' }),
    ...eventFilterParameters,
  },
  'parameter',
);

const eventFields = {
  id: idOf('event'),
  type: eventType,
  created_at: time,
  status: z.enum(WEBHOOK_EVENT_STATUSES).meta({
    description: '`pending`: never attempted. `attempting`: an attempt runs, or another one follows.',
  }),
  delivery: z.enum(DELIVERY_FATES).meta({
    description:
      '`dropped`: it ended without success and has no dead letter. `unknown`: it ended, and its attempts are no longer logged.',
  }),
  attempts: count.meta({
    description:
      'Made since the event was recorded or replayed, as far as they are known. Without a dead letter, at most 100 are counted once it ended.',
  }),
  next_attempt_at: time.nullable().meta({ description: 'null: an attempt runs, or none follows.' }),
  dead_letter: idOf('deadLetter').nullable(),
};
const webhookEventEntry = z.object(eventFields);
const webhookEventPage = pageOf(webhookEventEntry)
  .extend({ next_cursor: text.meta({ description: 'Opaque: the `after` of the next page.' }) })
  .meta({ id: 'WebhookEventPage' });

function listWebhookEvents(events: WebhookEventStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks/:id/events',
    docs: {
      operationId: 'listWebhookEvents',
      summary: 'List the events of a webhook and what became of each, newest first',
      description:
        'Those recorded since the webhook was made. With `status`, and for a webhook with domains or of a routing rule, a page may be ' +
        'short or empty: go on while `has_more` is true.',
      query: webhookEventQuery,
      success: { status: 200, body: webhookEventPage },
      refusals: ['not-found', 'validation-failed'],
    },
    async handle({ key: { accountId }, id: idText, query }) {
      const parsed = parseQuery(query, webhookEventQuery);
      if (!parsed.ok) return parsed.refusal;
      const { after, limit, email_id: emailId, ...filter } = parsed.fields;
      const webhookId = parseId('webhook', idText);
      if (webhookId === null) return noSuch('webhook');
      const page = await events.list(accountId, webhookId, { ...filter, emailId }, { after, limit });
      if (page === 'no webhook') return noSuch('webhook');
      if (page === 'no cursor') return invalid(unknownEvent(after));
      return json<AnswerOf<typeof webhookEventPage>>(200, {
        object: 'list',
        has_more: page.hasMore,
        next_cursor: writeEventCursor(page.position),
        data: page.entries.map(eventObject),
      });
    },
  };
}

const oneWebhookEvent = z
  .object({ object: z.literal('webhook_event'), ...eventFields, payload: event })
  .meta({ id: 'WebhookEvent' });

function getWebhookEvent(events: WebhookEventStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks/:id/events/:event',
    docs: {
      operationId: 'getWebhookEvent',
      summary: 'Read an event of a webhook, its payload, and what became of it',
      success: { status: 200, body: oneWebhookEvent },
      refusals: ['not-found'],
    },
    async handle(request) {
      const ids = webhookEventIds(request);
      const found = ids === null ? null : await events.find(ids.accountId, ids.webhookId, ids.eventId);
      if (found === null) return noSuch('event of this webhook');
      return json<AnswerOf<typeof oneWebhookEvent>>(200, {
        object: 'webhook_event',
        ...eventObject(found),
        payload: envelopeOf(found, found.subject),
      });
    },
  };
}

const eventAttemptQuery = strictFields(
  {
    after: parsedText(readCursor, 'is not the id of an attempt')
      .optional()
      .meta({ description: 'Older than the attempt with this id.' }),
    limit: limitParameter,
  },
  'parameter',
);

const eventAttempt = z.object({
  id: text.meta({ description: 'Opaque.' }),
  http_status_code: z.int().nullable().meta({ description: 'null: no answer came.' }),
  response: text.meta({
    description: 'The beginning of the answer’s body, at most 1 KiB; empty without an answer.',
  }),
  sent_at: time,
  attempt: z.int().min(1).meta({ description: '1 for the first of its set.' }),
  duration_ms: count,
  error: nullableText,
});
const eventAttemptPage = pageOf(eventAttempt).meta({ id: 'WebhookEventAttemptPage' });

function listEventAttempts(events: WebhookEventStore, attempts: AttemptStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks/:id/events/:event/attempts',
    docs: {
      operationId: 'listWebhookEventAttempts',
      summary: 'List what the endpoint answered to an event, newest first',
      description: 'As long as the operator keeps the log of attempts.',
      query: eventAttemptQuery,
      success: { status: 200, body: eventAttemptPage },
      refusals: ['not-found', 'validation-failed'],
    },
    async handle(request) {
      const parsed = parseQuery(request.query, eventAttemptQuery);
      if (!parsed.ok) return parsed.refusal;
      const ids = webhookEventIds(request);
      const known = ids !== null && (await events.find(ids.accountId, ids.webhookId, ids.eventId)) !== null;
      const page = known ? await attempts.list(ids.accountId, { ...ids, ...parsed.fields }) : null;
      if (page === null) return noSuch('event of this webhook');
      return json<AnswerOf<typeof eventAttemptPage>>(200, {
        object: 'list',
        has_more: page.hasMore,
        data: page.entries.map(attemptObject),
      });
    },
  };
}

const replayedEvent = named('webhook_event', 'event').meta({ id: 'ReplayedEvent' });

function replayEvent(events: WebhookEventStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/webhooks/:id/events/:event/replay',
    body: optionalBody,
    docs: {
      operationId: 'replayWebhookEvent',
      summary: 'Queue an event of a webhook again',
      description:
        'With a fresh set of attempts; the event keeps its id. Its dead letter is gone. While its delivery is outstanding, ' +
        'nothing changes.',
      request: noFields,
      success: { status: 200, body: replayedEvent },
      refusals: ['400 text', 'validation-failed', 'not-found'],
    },
    async handle(request) {
      const parsed = parseFields(request.body ?? {}, noFields, [], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const ids = webhookEventIds(request);
      if (ids === null) return noSuch('event of this webhook');
      const { accountId, webhookId, eventId } = ids;
      const replay = await events.replay(accountId, webhookId, eventId, actorOf(request.key));
      if (replay === 'missing') return noSuch('event of this webhook');
      return json<AnswerOf<typeof replayedEvent>>(200, { object: 'webhook_event', id: eventId });
    },
  };
}

/** Returns the ids in the path, or null when one is malformed. */
function webhookEventIds({ key, params }: RouteRequest) {
  const webhookId = parseId('webhook', params['id'] ?? '');
  const eventId = parseId('event', params['event'] ?? '');
  return webhookId === null || eventId === null ? null : { accountId: key.accountId, webhookId, eventId };
}

function eventObject(each: WebhookEvent): AnswerOf<typeof webhookEventEntry> {
  return {
    id: each.id,
    type: each.type,
    created_at: each.createdAt.toISOString(),
    status: each.status,
    delivery: each.delivery,
    attempts: each.attempts,
    next_attempt_at: each.nextAttemptAt?.toISOString() ?? null,
    dead_letter: each.deadLetterId,
  };
}

function attemptObject(logged: LoggedAttempt): AnswerOf<typeof eventAttempt> {
  return {
    id: writeCursor(logged.cursor),
    http_status_code: logged.statusCode,
    response: logged.answer === null ? '' : responseText(logged.answer),
    sent_at: logged.startedAt.toISOString(),
    attempt: logged.attempt,
    duration_ms: logged.durationMs,
    error: logged.error,
  };
}
