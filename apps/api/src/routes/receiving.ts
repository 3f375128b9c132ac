import { inWords, LIMITS, messageRecord, wholeMessageRecord } from '@postrider/domain';
import type { EventData } from '@postrider/domain';
import type { MessageAttachment, MessageDetails, MessageStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { listAnswer, listAnswerFrom } from '../http/list-answer.ts';
import { parseQuery } from '../http/query-fields.ts';
import { noSuch } from '../problems/answers.ts';
import {
  emailAttachmentObject,
  emailAttachmentPage,
  disposition,
  dispositionOf,
  oneEmailAttachment,
} from './email-attachments.ts';
import type { emailAttachmentEntry } from './email-attachments.ts';
import { withInlineImages } from './inline-images.ts';
import { link, linkTo } from './links.ts';
import type { BlobReader, LinkMaker } from './links.ts';
import { READ, withAttachment, withMessage } from './messages.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { complete, count, idOf, nullableText, pageOf, text, texts, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

/** Makes links to the bytes of a message, and reads them. */
interface ByteAccess {
  readonly links: LinkMaker;
  readonly blobs: BlobReader;
}

/** Received mail in the shapes of Resend's SDK (`emails.receiving`). */
export function receivingRoutes(messages: MessageStore, bytes: ByteAccess): readonly Documented[] {
  return [
    listReceived(messages),
    getReceived(messages, bytes),
    listReceivedAttachments(messages, bytes.links),
    getReceivedAttachment(messages, bytes.links),
  ];
}

const receivedFields = {
  id: idOf('message'),
  from: text,
  to: texts,
  cc: texts,
  bcc: z.array(z.never()).max(0),
  reply_to: texts,
  received_for: texts,
  subject: text.meta({ description: 'Empty where the message has none.' }),
  message_id: nullableText,
  complete,
  created_at: time,
  attachments: z.array(
    z.object({
      id: idOf('attachment'),
      filename: nullableText,
      size: count.meta({ description: 'In bytes, decoded.' }),
      content_type: text,
      content_id: nullableText,
      content_disposition: disposition,
    }),
  ),
};
const receivedEntry = z.object(receivedFields);
const receivedPage = pageOf(receivedEntry).meta({ id: 'ReceivedEmailPage' });

function listReceived(messages: MessageStore): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/receiving',
    docs: {
      operationId: 'listReceivedEmails',
      summary: 'List received messages, newest first, in the shape of Resend’s',
      description: `Held ones are left out. A page ends early at ${inWords(LIMITS.eventPageBytes)}.`,
      success: { status: 200, body: receivedPage },
      paged: true,
      refusals: ['validation-failed'],
    },
    async handle({ key, query }) {
      return listAnswer(query, {
        noun: 'message',
        // null: every status but `held`, and every inbox.
        read: (request) => messages.list(key, { status: null, inboxId: null }, request),
        show: (message) => receivedObject(messageRecord(message)),
      });
    },
  };
}

const receivedEmail = z
  .object({
    object: z.literal('email'),
    ...receivedFields,
    html: nullableText,
    html_truncated: z.boolean(),
    text: nullableText,
    text_truncated: z.boolean(),
    headers: z.record(z.string(), z.string()).meta({
      description: 'By their names in lower case. The values of one name are joined by a comma and a space.',
    }),
    raw: link,
  })
  .meta({ id: 'ReceivedEmail' });

const receivedQuery = z.object({
  html_format: z
    .enum(['data_uri', 'cid'], { error: 'is neither data_uri nor cid' })
    .default('data_uri')
    .meta({
      description: '`cid`: the references to inline images stay. `data_uri`: the images take their place.',
    }),
});

function getReceived(messages: MessageStore, { links, blobs }: ByteAccess): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/receiving/:id',
    docs: {
      operationId: 'getReceivedEmail',
      summary: 'Read a received message, in the shape of Resend’s',
      query: receivedQuery,
      success: { status: 200, body: receivedEmail },
      refusals: ['validation-failed', 'not-found', 'held-needs-manage'],
    },
    async handle(request) {
      const parsed = parseQuery(request.query, receivedQuery);
      if (!parsed.ok) return parsed.refusal;
      return withMessage(messages, request, async (message) => {
        const bodies = await messages.bodies(message.id);
        if (bodies === null) return noSuch('message');
        const record = wholeMessageRecord({ ...message, text: bodies.text }, bodies.html);
        const { html, html_truncated, text_truncated } = record;
        const keepsReferences = html === null || parsed.fields.html_format === 'cid';
        return json<AnswerOf<typeof receivedEmail>>(200, {
          object: 'email',
          ...receivedObject(record),
          html: keepsReferences ? html : await withInlineImages(html, message.attachments, blobs),
          html_truncated,
          text: record.text,
          text_truncated,
          headers: headersOf(message),
          raw: linkTo(links, request.origin, { messageId: message.id, attachmentId: null }),
        });
      });
    },
  };
}

/** A message in the shape of Resend's. Received mail names no `Bcc`. */
function receivedObject(record: EventData<'message.received'>): AnswerOf<typeof receivedEntry> {
  return {
    id: record.id,
    from: record.from,
    to: record.to,
    cc: record.cc,
    bcc: [],
    reply_to: record.reply_to,
    received_for: record.received_for,
    subject: record.subject ?? '',
    message_id: record.message_id,
    complete: record.complete,
    created_at: record.received_at,
    attachments: record.attachments.map((file) => ({
      id: file.id,
      filename: file.filename,
      size: file.size,
      content_type: file.content_type,
      content_id: file.content_id,
      content_disposition: dispositionOf(file.content_id),
    })),
  };
}

function headersOf({ headers }: MessageDetails): Record<string, string> {
  const byName = Map.groupBy(headers, ({ name }) => name.toLowerCase());
  return Object.fromEntries(
    [...byName].map(([name, fields]) => [name, fields.map(({ value }) => value).join(', ')]),
  );
}

function listReceivedAttachments(messages: MessageStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/receiving/:id/attachments',
    docs: {
      operationId: 'listReceivedEmailAttachments',
      summary: 'List attachments of a received message, each with a link, in the shape of Resend’s',
      success: { status: 200, body: emailAttachmentPage },
      paged: true,
      refusals: ['validation-failed', 'not-found', 'held-needs-manage'],
    },
    async handle(request) {
      return withMessage(messages, request, (message) =>
        listAnswerFrom(request.query, message.attachments, (file) =>
          receivedFile(links, request.origin, message, file),
        ),
      );
    },
  };
}

function getReceivedAttachment(messages: MessageStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/receiving/:id/attachments/:attachment',
    docs: {
      operationId: 'getReceivedEmailAttachment',
      summary: 'Read an attachment of a received message, with a link, in the shape of Resend’s',
      success: { status: 200, body: oneEmailAttachment },
      refusals: ['not-found', 'held-needs-manage'],
    },
    async handle(request) {
      return withAttachment(messages, request, (message, file) =>
        json<AnswerOf<typeof oneEmailAttachment>>(200, {
          object: 'attachment',
          ...receivedFile(links, request.origin, message, file),
        }),
      );
    },
  };
}

function receivedFile(
  links: LinkMaker,
  origin: string,
  { id: messageId }: MessageDetails,
  file: MessageAttachment,
): AnswerOf<typeof emailAttachmentEntry> {
  return emailAttachmentObject(file, linkTo(links, origin, { messageId, attachmentId: file.id }));
}
