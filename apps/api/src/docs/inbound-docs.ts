import { MESSAGE_STATUSES } from '../routes/messages/list.ts';
import type { Refusal } from '../routes/route.ts';
import type { RouteDoc } from './route-doc.ts';

const OF_MESSAGE: readonly Refusal[] = ['not-found', 'held-needs-manage'];

export const INBOUND_DOCS: Readonly<Record<string, RouteDoc>> = {
  'GET /v1/inboxes/:id/threads': {
    operationId: 'listThreads',
    summary: 'List threads of an inbox, that with the newest message first',
    query: [
      { name: 'read', description: 'Whether all that they received is read.', schema: { type: 'boolean' } },
      {
        name: 'folders',
        description: 'Comma-separated. Every thread is in `inbox`.',
        schema: { type: 'string' },
      },
      { name: 'labels', description: 'Comma-separated. No thread has one.', schema: { type: 'string' } },
    ],
    success: { status: 200, schema: 'ThreadPage' },
    paged: true,
    refusals: ['not-found', 'validation-failed'],
  },
  'GET /v1/inboxes/:id/threads/:thread': {
    operationId: 'getThread',
    summary: 'Read a thread',
    success: { status: 200, schema: 'ThreadSummary' },
    refusals: ['not-found'],
  },
  'PATCH /v1/inboxes/:id/threads/:thread': {
    operationId: 'updateThread',
    summary: 'Mark what a thread received as read or unread',
    request: 'ThreadUpdate',
    success: { status: 200, schema: 'ThreadSummary' },
    refusals: ['400 text', '422 text', 'validation-failed', 'not-found'],
  },
  'GET /v1/inboxes/:id/threads/:thread/emails': {
    operationId: 'listThreadEmails',
    summary: 'List what a thread received and sent, newest first',
    description: 'A page ends early at 8 MiB of text and HTML.',
    success: { status: 200, schema: 'ThreadEmailPage' },
    paged: true,
    refusals: ['not-found', 'validation-failed'],
  },
  'GET /v1/inboxes/:id/threads/:thread/emails/:email': {
    operationId: 'getThreadEmail',
    summary: 'Read a message of a thread',
    success: { status: 200, schema: 'ThreadEmail' },
    refusals: ['not-found'],
  },
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply': {
    operationId: 'replyToEmail',
    summary: 'Answer a message of a thread',
    description:
      'Queued; from there it goes the way of every send. A repetition gets its 202 also once the message is deleted.',
    request: 'ReplyRequest',
    success: { status: 202, schema: 'CreatedEmail' },
    idempotent: true,
    refusals: [
      ...([
        '400 text',
        'validation-failed',
        'not-found',
        'domain-not-verified',
        'idempotency-conflict',
      ] as const),
      ...(['inbox-rate-limited', 'thread-rate-limited'] as const),
    ],
  },
  'GET /v1/inbound/messages': {
    operationId: 'listMessages',
    summary: 'List received messages, newest first',
    description: 'Their records, as the events have them. Without `status` held ones are left out.',
    query: [
      {
        name: 'status',
        description: '`held` needs `inbound:manage`.',
        schema: { enum: MESSAGE_STATUSES },
      },
      { name: 'inbox_id', description: 'Of the inbox with this id.', schema: { type: 'string' } },
    ],
    success: { status: 200, schema: 'MessagePage' },
    paged: true,
    refusals: ['validation-failed', 'held-needs-manage'],
  },
  'GET /v1/inbound/messages/:id': {
    operationId: 'getMessage',
    summary: 'Read a received message whole',
    success: { status: 200, schema: 'Message' },
    refusals: OF_MESSAGE,
  },
  'GET /v1/inbound/messages/:id/raw': {
    operationId: 'getRawMessage',
    summary: 'Get a link to a message as it came',
    success: { status: 200, schema: 'Link' },
    refusals: OF_MESSAGE,
  },
  'GET /v1/inbound/messages/:id/attachments': {
    operationId: 'listAttachments',
    summary: 'List all attachments of a message, each with a link',
    success: { status: 200, schema: 'AttachmentList' },
    refusals: OF_MESSAGE,
  },
  'GET /v1/inbound/messages/:id/attachments/:attachment': {
    operationId: 'getAttachment',
    summary: 'Read an attachment of a message, with a link',
    success: { status: 200, schema: 'Attachment' },
    refusals: OF_MESSAGE,
  },
  'POST /v1/inbound/messages/:id/release': {
    operationId: 'releaseMessage',
    summary: 'Release a held message: it is received, with its event',
    success: { status: 200, schema: 'ReleasedMessage' },
    refusals: ['not-found', 'not-held'],
  },
  'GET /links/:id': {
    operationId: 'openLink',
    summary: 'Get the bytes that a link leads to',
    description: 'Needs no key. A link is valid for seven days. `Range` may ask for one range.',
    success: { status: 200, schema: 'file' },
    refusals: ['link-expired'],
  },
};
