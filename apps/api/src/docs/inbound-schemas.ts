import { EVENT_DATA } from '@postrider/domain';
import { z } from 'zod';
import { exactly, idOf, nullableText, pageOf, text, texts, time } from './json-schema.ts';
import type { Schema } from './json-schema.ts';

const count: Schema = { type: 'integer', minimum: 0 };

const fields = z.toJSONSchema(EVENT_DATA['message.received']).properties as Readonly<Record<string, Schema>>;

const link = {
  download_url: { type: 'string', format: 'uri', description: 'Needs no key.' },
  expires_at: time,
};
const attachment = {
  id: idOf('att'),
  filename: { ...nullableText, description: 'As the sender wrote it: not fit for a file system.' },
  content_type: text,
  content_id: nullableText,
  size: { ...count, description: 'In bytes, decoded.' },
  ...link,
};

const threadTexts = {
  id: idOf('thr'),
  subject: nullableText,
  folder: { const: 'inbox' },
  labels: { type: 'array', maxItems: 0 },
  read: { type: 'boolean' },
};

const threadEmail = exactly({
  id: { type: 'string', description: 'Of a received message (`msg_…`) or of a sent one (`em_…`).' },
  direction: { enum: ['inbound', 'outbound'] },
  from: text,
  to: texts,
  cc: texts,
  bcc: texts,
  reply_to: texts,
  subject: nullableText,
  message_id: nullableText,
  html: nullableText,
  text: nullableText,
  attachments: { type: 'array', items: exactly({ id: text, filename: nullableText, size: count }) },
  read: { type: 'boolean' },
  received_at: time,
});

export const INBOUND_SCHEMAS = {
  ThreadUpdate: { type: 'object', required: ['read'], properties: { read: { type: 'boolean' } } },
  ThreadSummary: exactly({ object: { const: 'inbox_thread' }, ...threadTexts }),
  ThreadPage: pageOf(
    exactly({
      ...threadTexts,
      from: nullableText,
      to: texts,
      cc: texts,
      bcc: texts,
      email_count: count,
      has_attachment: { type: 'boolean' },
      has_draft: { const: false },
      received_at: time,
    }),
  ),
  ThreadEmail: threadEmail,
  ThreadEmailPage: pageOf(threadEmail),
  ReplyRequest: {
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
  },
  MessagePage: pageOf(exactly(fields)),
  Message: exactly({
    ...fields,
    html: nullableText,
    headers: {
      type: 'array',
      items: exactly({ name: text, value: text }),
      description: 'In their order, also those of one name.',
    },
    released_at: { type: ['string', 'null'], format: 'date-time' },
  }),
  Link: exactly(link),
  AttachmentList: exactly({
    object: { const: 'list' },
    has_more: { const: false },
    data: { type: 'array', items: exactly(attachment) },
  }),
  Attachment: exactly({ object: { const: 'attachment' }, ...attachment }),
  ReleasedMessage: exactly({
    object: { const: 'message' },
    id: idOf('msg'),
    status: { const: 'released' },
  }),
} as const satisfies Readonly<Record<string, Schema>>;
