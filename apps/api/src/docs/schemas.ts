import { DEAD_LETTER_REASONS, EVENT_DATA, EVENT_TYPES, LIMITS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { z } from 'zod';
import { replayRequest } from '../routes/dead-letters/selection.ts';
import { blockedSenderRequest } from '../routes/inbound/block-sender.ts';
import { routeRequest } from '../routes/inbound/route-request.ts';
import { registration } from '../routes/webhooks/registration.ts';
import { EMAIL_REQUEST } from './email-request-schema.ts';
import { exactly, idOf, listOf, nullableText, pageOf, text, texts, time } from './json-schema.ts';
import type { Schema } from './json-schema.ts';
import { INBOUND_SCHEMAS } from './inbound-schemas.ts';
import { RESOURCE_SCHEMAS } from './resource-schemas.ts';

const eventType: Schema = { $ref: '#/components/schemas/EventType' };

const webhook = {
  object: { const: 'webhook' },
  id: idOf('wh'),
  endpoint: { type: 'string', format: 'uri', description: 'In normalised form.' },
  events: { type: 'array', items: eventType, description: 'The types that it receives now.' },
};

const listedEmail = {
  id: idOf('em'),
  from: text,
  to: texts,
  cc: texts,
  bcc: texts,
  reply_to: texts,
  subject: text,
  created_at: time,
  scheduled_at: { type: 'null' },
  message_id: { ...nullableText, description: 'The provider’s, or its Message-ID; null before it is sent.' },
  last_event: { type: 'string', description: 'The most telling of what is known of it, as `delivered`.' },
  topic_id: nullableText,
};

const deadLetter = {
  id: idOf('dl'),
  webhook: idOf('wh'),
  event_id: idOf('evt'),
  type: eventType,
  attempts: { type: 'integer', minimum: 0 },
  reason: { enum: DEAD_LETTER_REASONS },
  last_error: text,
  status_code: { type: ['integer', 'null'] },
};

/** A message has one of them at least, as long as its contents are kept. */
const body: Schema = {
  ...nullableText,
  description: 'Both are null once the contents are past their days.',
};

const attempt = {
  object: { const: 'attempt' },
  event_id: idOf('evt'),
  type: { ...nullableText, description: 'Of the event; null for attempts of older versions.' },
  attempt: { type: 'integer', minimum: 1, description: '1 for the first of its set.' },
  started_at: time,
  duration_ms: { type: 'integer', minimum: 0 },
  status_code: { type: ['integer', 'null'], description: 'null: no answer came.' },
  error: nullableText,
  response: { ...nullableText, description: 'The beginning of the answer’s body, at most 1 KiB.' },
};

/** Every named schema of the document. Answers have these fields and no others; of a request more are ignored. */
export const SCHEMAS = {
  EventType: { enum: EVENT_TYPES },
  WebhookRequest: requestOf(registration),
  CreatedWebhook: exactly({
    ...webhook,
    signing_secret: { type: 'string', pattern: '^whsec_', description: 'Shown this once.' },
  }),
  Webhook: exactly({ ...webhook, created_at: time }),
  WebhookList: listOf({ $ref: '#/components/schemas/Webhook' }),
  AttemptPage: exactly({
    object: { const: 'list' },
    has_more: { type: 'boolean' },
    next_cursor: { ...nullableText, description: 'Opaque: the `after` of the next page; null on the last.' },
    data: { type: 'array', items: exactly(attempt) },
  }),
  DeletedWebhook: exactly({ object: { const: 'webhook' }, id: idOf('wh'), deleted: { const: true } }),
  DeadLetterList: { ...listOf(exactly(deadLetter)), description: `The newest ${LIMITS.deadLettersListed}.` },
  ReplayRequest: requestOf(replayRequest),
  ReplayedDeadLetters: exactly({
    replayed: { type: 'integer', minimum: 0, maximum: LIMITS.deadLettersReplayed },
    remaining: { type: 'integer', minimum: 0 },
  }),
  ReplayedDeadLetter: exactly({ id: idOf('dl'), replayed: { const: true } }),
  EmailRequest: EMAIL_REQUEST,
  EmailBatchRequest: {
    type: 'array',
    minItems: 1,
    maxItems: LIMITS.batchMessages,
    items: { $ref: '#/components/schemas/EmailRequest' },
  },
  CreatedEmails: exactly({ data: { type: 'array', items: exactly({ id: idOf('em') }) } }),
  CreatedEmail: exactly({ id: idOf('em') }),
  Email: exactly({
    object: { const: 'email' },
    ...listedEmail,
    html: body,
    text: body,
    tags: { type: 'array', items: exactly({ name: text, value: text }) },
  }),
  EmailPage: pageOf(exactly(listedEmail)),
  SnsMessage: {
    type: 'object',
    description: 'As SNS posts it: Amazon SNS Developer Guide, "Parsing Amazon SNS message formats".',
    required: [
      'Type',
      'MessageId',
      'TopicArn',
      'Message',
      'Timestamp',
      'SignatureVersion',
      'Signature',
      'SigningCertURL',
    ],
  },
  Received: exactly({ received: { const: true } }),
  ...RESOURCE_SCHEMAS,
  ...INBOUND_SCHEMAS,
  InboundRouteRequest: requestOf(routeRequest),
  BlockedSenderRequest: requestOf(blockedSenderRequest),
} as const satisfies Readonly<Record<string, Schema>>;

export type SchemaName = keyof typeof SCHEMAS;

function requestOf(schema: z.ZodType): Schema {
  return plain(z.toJSONSchema(schema, { io: 'input' }));
}

/** Without its dialect, which is that of the whole document. */
function plain({ ...schema }: z.core.JSONSchema.BaseSchema): Schema {
  delete schema.$schema;
  return schema;
}
