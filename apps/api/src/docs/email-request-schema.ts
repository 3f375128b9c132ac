import { LIMITS } from '@postrider/domain';
import { nullableText, text } from './json-schema.ts';
import type { Schema } from './json-schema.ts';

const NOTHING: Schema = { type: 'null' };
/** Null counts as left out, as do most fields of a message. */
const UNSUPPORTED: Schema = {
  description: 'Not supported.',
  anyOf: [NOTHING, { type: 'array', maxItems: 0 }],
};

/** One address, or an array of as many as all recipients may be. */
const addresses: readonly Schema[] = [text, { type: 'array', items: text, maxItems: LIMITS.recipients }];
const optionalAddresses: Schema = { anyOf: [...addresses, NOTHING] };

const tagPart: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: LIMITS.tagLength,
  pattern: '^[A-Za-z0-9_-]+$',
};

const attachment: Schema = {
  type: 'object',
  required: ['filename', 'content'],
  properties: {
    filename: { type: 'string', minLength: 1, maxLength: LIMITS.filenameLength },
    content: { type: 'string', contentEncoding: 'base64' },
    content_type: nullableText,
    content_id: { type: ['string', 'null'], minLength: 1, maxLength: LIMITS.contentIdLength },
    path: { type: 'null', description: 'Not supported.' },
  },
};

/** The body of a send. Rules that a schema cannot say are in words, and in docs/api.md. */
export const EMAIL_REQUEST: Schema = {
  type: 'object',
  description: `One of \`html\` and \`text\` is required. At most ${LIMITS.recipients} recipients in \`to\`, \`cc\` and \`bcc\` together.`,
  required: ['from', 'to', 'subject'],
  anyOf: ['html', 'text'].map((field) => ({ required: [field], properties: { [field]: text } })),
  properties: {
    from: { type: 'string', description: '`local@domain` or `Name <local@domain>`' },
    to: {
      anyOf: [text, { type: 'array', items: text, minItems: 1, maxItems: LIMITS.recipients }],
      description: `At most ${LIMITS.recipients} recipients, those in \`cc\` and \`bcc\` included.`,
    },
    cc: optionalAddresses,
    bcc: optionalAddresses,
    reply_to: optionalAddresses,
    subject: { type: 'string', maxLength: LIMITS.headerLength },
    html: nullableText,
    text: nullableText,
    headers: { type: ['object', 'null'], additionalProperties: text, maxProperties: LIMITS.headers },
    tags: {
      type: ['array', 'null'],
      maxItems: LIMITS.tags,
      items: { type: 'object', required: ['name', 'value'], properties: { name: tagPart, value: tagPart } },
    },
    attachments: { type: ['array', 'null'], maxItems: LIMITS.attachments, items: attachment },
    topic_id: nullableText,
    scheduled_at: UNSUPPORTED,
    template: UNSUPPORTED,
  },
};
