import { DEAD_LETTER_REASONS, EVENT_TYPES, LIMITS } from '@postrider/domain';
import { z } from 'zod';
import type { Route, RouteDocs } from '../routes/route.ts';
import { SCHEMAS } from './schemas.ts';
import { INBOUND_DOCS } from './inbound-docs.ts';
import { DOMAIN_DOCS, SUPPRESSION_DOCS, TOPIC_DOCS, UNSUBSCRIBE_DOCS } from './resource-docs.ts';
import type { Refusal } from '../routes/route.ts';
import type { QueryParameter, RouteDoc } from './route-doc.ts';

const SEND_REFUSALS: readonly Refusal[] = [
  'domain-not-verified',
  'idempotency-conflict',
  'validation-failed',
  'inbox-rate-limited',
  'thread-rate-limited',
];

const DEAD_LETTER_QUERY: readonly QueryParameter[] = [
  { name: 'type', description: 'Of events of this type.', schema: { enum: EVENT_TYPES } },
  { name: 'reason', description: 'Of this reason.', schema: { enum: DEAD_LETTER_REASONS } },
  { name: 'webhook', description: 'Of the webhook with this id.', schema: { type: 'string' } },
  { name: 'after', description: 'Older than the dead letter with this id.', schema: { type: 'string' } },
];

const ATTEMPT_QUERY: readonly QueryParameter[] = [
  { name: 'event_id', description: 'Of the event with this id.', schema: { type: 'string' } },
  { name: 'after', description: 'The `next_cursor` of the page before.', schema: { type: 'string' } },
  {
    name: 'limit',
    description: 'Entries at the most.',
    schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageEntries, default: LIMITS.pageEntriesDefault },
  },
];

/** By method and path, as the table has them. A route without an entry fails a test. */
export const ROUTE_DOCS: Readonly<Record<string, RouteDoc>> = {
  'POST /v1/webhooks': {
    operationId: 'createWebhook',
    summary: 'Register an endpoint for events',
    description: 'The one answer that carries the signing secret. `events` empty or absent means all types.',
    request: 'WebhookRequest',
    success: { status: 201, schema: 'CreatedWebhook' },
    refusals: ['400 text', '422 text', 'validation-failed'],
  },
  'GET /v1/webhooks': {
    operationId: 'listWebhooks',
    summary: 'List all webhooks, newest first',
    success: { status: 200, schema: 'WebhookList' },
    refusals: [],
  },
  'GET /v1/webhooks/:id': {
    operationId: 'getWebhook',
    summary: 'Read a webhook, without its signing secret',
    success: { status: 200, schema: 'Webhook' },
    refusals: ['not-found'],
  },
  'GET /v1/webhooks/:id/attempts': {
    operationId: 'listAttempts',
    summary: 'List what the endpoint of a webhook answered, newest first',
    description: 'As long as the operator keeps the log of attempts.',
    query: ATTEMPT_QUERY,
    success: { status: 200, schema: 'AttemptPage' },
    refusals: ['not-found', 'validation-failed'],
  },
  'DELETE /v1/webhooks/:id': {
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook, with its queued deliveries and its dead letters',
    success: { status: 200, schema: 'DeletedWebhook' },
    refusals: ['not-found'],
  },
  'GET /v1/webhooks/dead-letters': {
    operationId: 'listDeadLetters',
    summary: 'List the newest dead letters',
    description: 'All parameters narrow the list; with `after` it goes on where another ended.',
    query: DEAD_LETTER_QUERY,
    success: { status: 200, schema: 'DeadLetterList' },
    refusals: ['validation-failed'],
  },
  'POST /v1/webhooks/dead-letters/replay': {
    operationId: 'replayDeadLetters',
    summary: 'Queue the events of a webhook’s dead letters again',
    description: `The oldest first, at most ${LIMITS.deadLettersReplayed} a request; \`remaining\` is how many still match.`,
    request: 'ReplayRequest',
    success: { status: 200, schema: 'ReplayedDeadLetters' },
    refusals: ['400 text', '422 text', 'validation-failed', 'not-found'],
  },
  'POST /v1/webhooks/dead-letters/:id/replay': {
    operationId: 'replayDeadLetter',
    summary: 'Queue the event of a dead letter again',
    description: 'With a fresh set of attempts; the event keeps its id. The dead letter is gone.',
    success: { status: 200, schema: 'ReplayedDeadLetter' },
    refusals: ['not-found'],
  },
  'POST /v1/emails': {
    operationId: 'sendEmail',
    summary: 'Send a message',
    description: 'Answered once the message is stored; it is handed to the provider afterwards.',
    request: 'EmailRequest',
    idempotent: true,
    success: { status: 200, schema: 'CreatedEmail' },
    refusals: [...SEND_REFUSALS, '413 text'],
  },
  'POST /v1/emails/batch': {
    operationId: 'sendEmails',
    summary: 'Send many messages: all of them or none',
    description: 'Costs as much of the key’s limit as it has messages.',
    request: 'EmailBatchRequest',
    idempotent: true,
    success: { status: 200, schema: 'CreatedEmails' },
    refusals: SEND_REFUSALS,
  },
  'GET /v1/emails': {
    operationId: 'listEmails',
    summary: 'List messages, newest first',
    success: { status: 200, schema: 'EmailPage' },
    paged: true,
    refusals: ['validation-failed'],
  },
  'GET /v1/emails/:id': {
    operationId: 'getEmail',
    summary: 'Read a message and what is last known of it',
    success: { status: 200, schema: 'Email' },
    refusals: ['not-found'],
  },
  'POST /internal/ses/sns': {
    operationId: 'receiveSns',
    summary: 'For SNS: take what SES reports, and mail that it received',
    description: 'Believes what SNS has signed for an allowed topic, and nothing else.',
    request: 'SnsMessage',
    requestMedia: {
      types: ['text/plain; charset=UTF-8'],
      words: 'read as JSON whatever its Content-Type says: SNS says that it is plain text',
    },
    success: { status: 200, schema: 'Received' },
    refusals: ['400 validation-failed'],
  },
  ...DOMAIN_DOCS,
  ...SUPPRESSION_DOCS,
  ...TOPIC_DOCS,
  ...INBOUND_DOCS,
  ...UNSUBSCRIBE_DOCS,
};

const LEFT = Object.fromEntries(
  Object.entries(SCHEMAS).map(([id, schema]) => [id, z.unknown().meta({ id, ...schema })]),
);

/** The description of a route of the table. */
export function docsOf(route: Route & { readonly docs?: RouteDocs }): RouteDocs {
  if (route.docs !== undefined) return route.docs;
  const doc = ROUTE_DOCS[`${route.method.toUpperCase()} ${route.path}`];
  if (doc === undefined) throw new Error(`${route.path} is not described`);
  const { request, success, query, ...more } = doc;
  return {
    ...more,
    ...(request === undefined ? {} : { request: LEFT[request] as z.ZodType }),
    ...(query === undefined
      ? {}
      : {
          query: z.object(
            Object.fromEntries(
              query.map(({ name, description, schema }) => [
                name,
                z
                  .unknown()
                  .meta({ description, ...schema })
                  .optional(),
              ]),
            ),
          ),
        }),
    success: {
      status: success.status,
      body:
        success.schema === 'page'
          ? 'html'
          : success.schema === 'file'
            ? 'file'
            : (LEFT[success.schema] as z.ZodType),
      ...(success.also === undefined ? {} : { also: success.also }),
      ...(success.orPage === undefined ? {} : { orHtml: true as const }),
    },
  };
}
