import { MESSAGE_STATUSES } from '../routes/messages/list.ts';
import type { Refusal } from '../routes/route.ts';
import type { RouteDoc } from './route-doc.ts';

const OF_MESSAGE: readonly Refusal[] = ['not-found', 'held-needs-manage'];
const PAGE_REFUSALS: readonly Refusal[] = ['validation-failed'];
const FIELD_REFUSALS: readonly Refusal[] = ['400 text', '422 text', 'validation-failed'];

export const INBOUND_DOCS: Readonly<Record<string, RouteDoc>> = {
  'POST /v1/inboxes': {
    operationId: 'createInbox',
    summary: 'Make an inbox',
    description: 'Its mail is of the kind of the key: live or test.',
    request: 'InboxRequest',
    success: { status: 201, schema: 'CreatedInbox' },
    refusals: [...FIELD_REFUSALS, 'inbox-limit', 'inbox-exists'],
  },
  'GET /v1/inboxes': {
    operationId: 'listInboxes',
    summary: 'List inboxes, newest first',
    success: { status: 200, schema: 'InboxPage' },
    paged: true,
    refusals: PAGE_REFUSALS,
  },
  'GET /v1/inboxes/:id': {
    operationId: 'getInbox',
    summary: 'Read an inbox, by its id or its address',
    success: { status: 200, schema: 'Inbox' },
    refusals: ['not-found'],
  },
  'DELETE /v1/inboxes/:id': {
    operationId: 'deleteInbox',
    summary: 'Delete an inbox, by its id or its address, with its messages and threads',
    success: { status: 200, schema: 'DeletedInbox' },
    refusals: ['not-found'],
  },
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
  'POST /v1/inbound/routes': {
    operationId: 'createInboundRoute',
    summary: 'Take received mail to an endpoint of its own',
    description: 'The one answer that carries the signing secret. `events` empty or absent means both.',
    request: 'InboundRouteRequest',
    success: { status: 201, schema: 'CreatedInboundRoute' },
    refusals: [...FIELD_REFUSALS, 'route-exists'],
  },
  'GET /v1/inbound/routes': {
    operationId: 'listInboundRoutes',
    summary: 'List the rules of received mail, newest first',
    success: { status: 200, schema: 'InboundRoutePage' },
    paged: true,
    refusals: PAGE_REFUSALS,
  },
  'GET /v1/inbound/routes/:id': {
    operationId: 'getInboundRoute',
    summary: 'Read a rule, without its signing secret',
    success: { status: 200, schema: 'InboundRoute' },
    refusals: ['not-found'],
  },
  'DELETE /v1/inbound/routes/:id': {
    operationId: 'deleteInboundRoute',
    summary: 'Delete a rule, with its webhook, its queued deliveries and its dead letters',
    success: { status: 200, schema: 'DeletedInboundRoute' },
    refusals: ['not-found'],
  },
  'POST /v1/inbound/blocked-senders': {
    operationId: 'blockSender',
    summary: 'Hold the mail of a sender',
    description: 'A sender that is blocked already is answered with its entry.',
    request: 'BlockedSenderRequest',
    success: { status: 200, schema: 'BlockedSender' },
    refusals: FIELD_REFUSALS,
  },
  'GET /v1/inbound/blocked-senders': {
    operationId: 'listBlockedSenders',
    summary: 'List blocked senders, newest first',
    success: { status: 200, schema: 'BlockedSenderPage' },
    paged: true,
    refusals: PAGE_REFUSALS,
  },
  'GET /v1/inbound/blocked-senders/:id': {
    operationId: 'getBlockedSender',
    summary: 'Read a blocked sender',
    success: { status: 200, schema: 'BlockedSender' },
    refusals: ['not-found'],
  },
  'DELETE /v1/inbound/blocked-senders/:id': {
    operationId: 'unblockSender',
    summary: 'Hold the mail of a sender no longer',
    description: 'Mail that is held stays held.',
    success: { status: 200, schema: 'DeletedBlockedSender' },
    refusals: ['not-found'],
  },
};
