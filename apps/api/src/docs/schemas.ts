import { EVENT_DATA, EVENT_TYPES, LIMITS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { z } from 'zod';
import { registration } from '../routes/webhooks/registration.ts';
import { exactly, idOf, listOf, nullableText, pageOf, text, texts, time } from './json-schema.ts';
import type { Schema } from './json-schema.ts';
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

const addresses: Schema = { anyOf: [text, texts] };

const deadLetter = {
  id: idOf('dl'),
  webhook: idOf('wh'),
  event_id: idOf('evt'),
  type: eventType,
  attempts: { type: 'integer', minimum: 0 },
  reason: { enum: ['attempts_exhausted', 'rejected'] },
  last_error: text,
  status_code: { type: ['integer', 'null'] },
};

const emailRequest: Schema = {
  type: 'object',
  required: ['from', 'to', 'subject'],
  properties: {
    from: { type: 'string', description: '`local@domain` or `Name <local@domain>`' },
    to: addresses,
    cc: addresses,
    bcc: addresses,
    reply_to: addresses,
    subject: { type: 'string', maxLength: LIMITS.headerLength },
    html: nullableText,
    text: nullableText,
    headers: { type: 'object', additionalProperties: text },
    tags: {
      type: 'array',
      maxItems: LIMITS.tags,
      items: { type: 'object', required: ['name', 'value'], properties: { name: text, value: text } },
    },
    attachments: {
      type: 'array',
      maxItems: LIMITS.attachments,
      items: {
        type: 'object',
        required: ['filename', 'content'],
        properties: {
          filename: text,
          content: { type: 'string', contentEncoding: 'base64' },
          content_type: nullableText,
          content_id: nullableText,
        },
      },
    },
    topic_id: nullableText,
  },
};

/** Every named schema of the document. Answers have these fields and no others; of a request more are ignored. */
export const SCHEMAS = {
  EventType: { enum: EVENT_TYPES },
  Problem: {
    type: 'object',
    additionalProperties: false,
    required: ['type', 'title', 'status', 'instance'],
    properties: {
      type: { type: 'string', format: 'uri', description: 'Match on its last segment, the slug.' },
      title: text,
      status: { type: 'integer' },
      detail: { type: 'string', description: 'What went wrong this time.' },
      instance: { type: 'string', description: 'The request’s id, also in `x-request-id`.' },
      errors: {
        type: 'array',
        description: 'On send routes only: every fault, under its path as written.',
        items: exactly({ field: text, message: text }),
      },
    },
  },
  WebhookRequest: requestOf(registration),
  CreatedWebhook: exactly({
    ...webhook,
    signing_secret: { type: 'string', pattern: '^whsec_', description: 'Shown this once.' },
  }),
  WebhookList: listOf(exactly({ ...webhook, created_at: time })),
  DeletedWebhook: exactly({ object: { const: 'webhook' }, id: idOf('wh'), deleted: { const: true } }),
  DeadLetterList: { ...listOf(exactly(deadLetter)), description: `The newest ${LIMITS.deadLettersListed}.` },
  ReplayedDeadLetter: exactly({ id: idOf('dl'), replayed: { const: true } }),
  EmailRequest: emailRequest,
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
    html: nullableText,
    text: nullableText,
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
} as const satisfies Readonly<Record<string, Schema>>;

export type SchemaName = keyof typeof SCHEMAS;

/** The body of a delivery of one type (contract 2.2 and 2.3). */
export function envelopeSchema(type: EventType): Schema {
  const data = plain(z.toJSONSchema(EVENT_DATA[type]));
  return exactly({ id: idOf('evt'), type: { const: type }, subject: text, created_at: time, data });
}

function requestOf(schema: z.ZodType): Schema {
  return plain(z.toJSONSchema(schema, { io: 'input' }));
}

/** Without its dialect, which is that of the whole document. */
function plain({ ...schema }: z.core.JSONSchema.BaseSchema): Schema {
  delete schema.$schema;
  return schema;
}
