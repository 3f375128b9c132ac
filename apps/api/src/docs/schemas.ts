import { LIMITS } from '@postrider/domain';
import { EMAIL_REQUEST } from './email-request-schema.ts';
import { exactly, idOf, nullableText, pageOf, text, texts, time } from './json-schema.ts';
import type { Schema } from './json-schema.ts';
import { INBOUND_SCHEMAS } from './inbound-schemas.ts';
import { RESOURCE_SCHEMAS } from './resource-schemas.ts';

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

/** A message has one of them at least, as long as its contents are kept. */
const body: Schema = {
  ...nullableText,
  description: 'Both are null once the contents are past their days.',
};

/** Every named schema of the document. Answers have these fields and no others; of a request more are ignored. */
export const SCHEMAS = {
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
} as const satisfies Readonly<Record<string, Schema>>;

export type SchemaName = keyof typeof SCHEMAS;
