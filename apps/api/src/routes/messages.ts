import {
  EVENT_DATA,
  grants,
  inWords,
  LIMITS,
  messageRecord,
  parseId,
  wholeMessageRecord,
} from '@postrider/domain';
import type { ApiKey, MessageAttachment, MessageDetails, MessageStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { optionalBody } from '../http/body-rules.ts';
import { noFields, parseFields, resourceFieldRule } from '../http/fields.ts';
import { idField } from '../http/parsed-text.ts';
import { listAnswer } from '../http/list-answer.ts';
import { parseQuery } from '../http/query-fields.ts';
import { actorOf } from '../http/request-context.ts';
import { heldNeedsManage, noSuch, notHeld } from '../problems/answers.ts';
import { link, linkTo } from './links.ts';
import type { LinkMaker } from './links.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';
import { count, idOf, nullableText, pageOf, text } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

export const READ = { scope: 'inbound:read', limited: true } as const;

export function messageRoutes(messages: MessageStore, links: LinkMaker): readonly Documented[] {
  return [
    listMessages(messages),
    getMessage(messages),
    getRaw(messages, links),
    listAttachments(messages, links),
    getAttachment(messages, links),
    releaseMessage(messages),
  ];
}

const STATUSES = ['received', 'held', 'released'] as const;

const messageQuery = z.object({
  status: z
    .enum(STATUSES, { error: 'is no status of a message' })
    .optional()
    .meta({ description: '`held` needs `inbound:manage`.' }),
  inbox_id: idField('inbox', 'an inbox').optional().meta({ description: 'Of the inbox with this id.' }),
});

/** A message has the same record here as in its `message.received` event. */
const messageEntry = EVENT_DATA['message.received'];
const messagePage = pageOf(messageEntry).meta({ id: 'MessagePage' });

/** The list of an inbox that does not exist is empty. */
function listMessages(messages: MessageStore): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inbound/messages',
    docs: {
      operationId: 'listMessages',
      summary: 'List received messages, newest first',
      description:
        'Their records, as the events have them. Without `status` held ones are left out. ' +
        `A page ends early at ${inWords(LIMITS.eventPageBytes)}.`,
      query: messageQuery,
      success: { status: 200, body: messagePage },
      paged: true,
      refusals: ['validation-failed', 'held-needs-manage'],
    },
    async handle({ key, query }) {
      const parsed = parseQuery(query, messageQuery);
      if (!parsed.ok) return parsed.refusal;
      const { status = null, inbox_id: inboxId = null } = parsed.fields;
      if (status === 'held' && !seesHeld(key)) return heldNeedsManage;
      return listAnswer(query, {
        noun: 'message',
        read: (request) => messages.list(key, { status, inboxId }, request),
        show: messageRecord,
      });
    },
  };
}

const wholeMessage = messageEntry
  .extend({
    html: nullableText,
    html_truncated: z.boolean(),
    headers: z
      .array(z.object({ name: text, value: text }))
      .meta({ description: 'In their order, also those of one name.' }),
    released_at: nullableText.meta({ format: 'date-time' }),
  })
  .meta({ id: 'Message' });

/** Answers the record of the event, with more of the text, and with the fields that no event has. */
function getMessage(messages: MessageStore): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inbound/messages/:id',
    docs: {
      operationId: 'getMessage',
      summary: 'Read a received message',
      description: `Has the first ${inWords(LIMITS.messageBodyBytes)} of the text and of the HTML. \`…/body\` has all of either.`,
      success: { status: 200, body: wholeMessage },
      refusals: ['not-found', 'held-needs-manage'],
    },
    async handle(request) {
      return withMessage(messages, request, async (message) => {
        const bodies = await messages.bodies(message.id);
        if (bodies === null) return noSuch('message');
        return json<AnswerOf<typeof wholeMessage>>(200, {
          ...wholeMessageRecord({ ...message, text: bodies.text }, bodies.html),
          headers: message.headers,
          released_at: message.releasedAt?.toISOString() ?? null,
        });
      });
    },
  };
}

/** Answers a link to the bytes of the message, as they arrived. */
function getRaw(messages: MessageStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inbound/messages/:id/raw',
    docs: {
      operationId: 'getRawMessage',
      summary: 'Get a link to a message as it came',
      success: { status: 200, body: link },
      refusals: ['not-found', 'held-needs-manage'],
    },
    async handle(request) {
      return withMessage(messages, request, ({ id }) =>
        json(200, linkTo(links, request.origin, { messageId: id, attachmentId: null })),
      );
    },
  };
}

const attachmentFields = {
  id: idOf('attachment'),
  filename: nullableText.meta({ description: 'As the sender wrote it: not fit for a file system.' }),
  content_type: text,
  content_id: nullableText,
  size: count.meta({ description: 'In bytes, decoded.' }),
  ...link.shape,
};
const attachmentEntry = z.object(attachmentFields);
const attachmentList = z
  .object({
    object: z.literal('list'),
    has_more: z.literal(false),
    data: z.array(attachmentEntry),
  })
  .meta({ id: 'AttachmentList' });

function listAttachments(messages: MessageStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inbound/messages/:id/attachments',
    docs: {
      operationId: 'listAttachments',
      summary: 'List all attachments of a message, each with a link',
      success: { status: 200, body: attachmentList },
      refusals: ['not-found', 'held-needs-manage'],
    },
    async handle(request) {
      return withMessage(messages, request, (message) =>
        json<AnswerOf<typeof attachmentList>>(200, {
          object: 'list',
          has_more: false,
          data: message.attachments.map((file) => attachmentObject(links, request.origin, message, file)),
        }),
      );
    },
  };
}

const oneAttachment = z
  .object({ object: z.literal('attachment'), ...attachmentFields })
  .meta({ id: 'Attachment' });

function getAttachment(messages: MessageStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inbound/messages/:id/attachments/:attachment',
    docs: {
      operationId: 'getAttachment',
      summary: 'Read an attachment of a message, with a link',
      success: { status: 200, body: oneAttachment },
      refusals: ['not-found', 'held-needs-manage'],
    },
    async handle(request) {
      return withAttachment(messages, request, (message, file) =>
        json<AnswerOf<typeof oneAttachment>>(200, {
          object: 'attachment',
          ...attachmentObject(links, request.origin, message, file),
        }),
      );
    },
  };
}

function attachmentObject(
  links: LinkMaker,
  origin: string,
  { id: messageId }: MessageDetails,
  { id, filename, contentType, contentId, size }: MessageAttachment,
): AnswerOf<typeof attachmentEntry> {
  return {
    id,
    filename,
    content_type: contentType,
    content_id: contentId,
    size,
    ...linkTo(links, origin, { messageId, attachmentId: id }),
  };
}

const releasedMessage = z
  .object({ object: z.literal('message'), id: idOf('message'), status: z.literal('released') })
  .meta({ id: 'ReleasedMessage' });

function releaseMessage(messages: MessageStore): Documented<KeyedRoute> {
  return {
    method: 'post',
    path: '/v1/inbound/messages/:id/release',
    scope: 'inbound:manage',
    limited: true,
    body: optionalBody,
    docs: {
      operationId: 'releaseMessage',
      summary: 'Release a held message: it is received, with its event',
      request: noFields,
      success: { status: 200, body: releasedMessage },
      refusals: ['400 text', 'validation-failed', 'not-found', 'not-held'],
    },
    async handle({ key, id: written, body }) {
      const parsed = parseFields(body ?? {}, noFields, [], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const id = parseId('message', written);
      if (id === null) return noSuch('message');
      switch (await messages.release(key, id, actorOf(key))) {
        case 'released':
          return json<AnswerOf<typeof releasedMessage>>(200, { object: 'message', id, status: 'released' });
        case 'not-held':
          return notHeld;
        case 'missing':
          return noSuch('message');
      }
    },
  };
}

function seesHeld(key: ApiKey): boolean {
  return grants(key.scopes, 'inbound:manage');
}

/** Finds a message that the key may read and answers with `then`. All routes refuse alike. */
export async function withMessage(
  messages: MessageStore,
  { key, id: written }: { readonly key: ApiKey; readonly id: string },
  then: (message: MessageDetails) => Answer | Promise<Answer>,
): Promise<Answer> {
  const id = parseId('message', written);
  const message = id === null ? null : await messages.find(key, id);
  if (message === null) return noSuch('message');
  return message.status === 'held' && !seesHeld(key) ? heldNeedsManage : then(message);
}

/** Finds an attachment of a message that the key may read, and answers with `then`. */
export function withAttachment(
  messages: MessageStore,
  request: Pick<RouteRequest, 'key' | 'id' | 'params'>,
  then: (message: MessageDetails, file: MessageAttachment) => Answer,
): Promise<Answer> {
  return withMessage(messages, request, (message) => {
    const file = message.attachments.find(({ id }) => id === request.params['attachment']);
    return file === undefined ? noSuch('attachment') : then(message, file);
  });
}
