import { LIMITS } from '@postrider/domain';
import { z } from 'zod';

/** A JSON Schema. The validators of a message are `requestedEmail` and `parseReply`, which are not zod's. */
type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const nullableText: Schema = { type: ['string', 'null'] };

const NOTHING: Schema = { type: 'null' };
/** Null counts as absent, as in most fields of a message. */
const UNSUPPORTED: Schema = {
  description: 'Not supported.',
  anyOf: [NOTHING, { type: 'array', maxItems: 0 }],
};

/** One address or an array of addresses. */
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

/**
 * The body of a send. Rules that a schema cannot express are in its descriptions and in docs/api.md. A test
 * compares it with the validator.
 */
export const emailRequest = z.unknown().meta({
  id: 'EmailRequest',
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
});

/** The body of a reply. */
export const replyRequest = z.unknown().meta({
  id: 'ReplyRequest',
  type: 'object',
  properties: {
    text: { ...nullableText, description: 'Text and HTML together: 512 KiB at most; one is needed.' },
    html: nullableText,
    cc: { description: 'As of `POST /v1/emails`.' },
    bcc: { description: 'As of `POST /v1/emails`.' },
    subject: { ...nullableText, description: 'Absent: that of the message, with `Re:` in front.' },
    reply_all: { type: ['boolean', 'null'] },
    headers: {
      description: 'As of `POST /v1/emails`, without `In-Reply-To`, `References` and `Reply-To`.',
    },
    attachments: { description: 'As of `POST /v1/emails`.' },
  },
});
