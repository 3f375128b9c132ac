import { DOMAIN_DOCS, SUPPRESSION_DOCS, TOPIC_DOCS, UNSUBSCRIBE_DOCS } from './resource-docs.ts';
import type { Refusal, RouteDoc } from './route-doc.ts';

const SEND_REFUSALS: readonly Refusal[] = [
  'domain-not-verified',
  'idempotency-conflict',
  'validation-failed',
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
  'DELETE /v1/webhooks/:id': {
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook, with its queued deliveries and its dead letters',
    success: { status: 200, schema: 'DeletedWebhook' },
    refusals: ['not-found'],
  },
  'GET /v1/webhooks/dead-letters': {
    operationId: 'listDeadLetters',
    summary: 'List the newest dead letters',
    success: { status: 200, schema: 'DeadLetterList' },
    refusals: [],
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
    summary: 'For SNS: take what SES reports',
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
  ...UNSUBSCRIBE_DOCS,
};
