import { expect } from '@jest/globals';
import { SHARED_DOMAIN } from '../start-api.ts';
import { ID, MARK, SECRETS, TIME } from './route-contract.ts';
import type { RouteContract } from './route-contract.ts';
import { judgePage, noFields, resourceBody } from './resource-contracts.ts';
import { threadContracts } from './thread-contracts.ts';

type Document = Readonly<Record<string, unknown>>;

const inbox = { keyed: true, ofMail: true } as const;

function judgeInbox(doc: Document): void {
  const address = expect.stringMatching(new RegExp(`^[^A-Z+]+@${SHARED_DOMAIN}$`)) as unknown;
  expect(doc).toEqual({
    id: ID('ibx'),
    name: expect.any(String),
    email_address: address,
    from_name: doc['from_name'] === null ? null : expect.any(String),
    unread: expect.any(Number),
    last_received: doc['last_received'] === null ? null : TIME,
    created_at: TIME,
    updated_at: TIME,
  });
}

export const LINK = {
  download_url: expect.stringMatching(/^http:\/\/[\w.:[\]-]+\/links\/[\w-]{100,200}$/) as unknown,
  expires_at: TIME,
};
const FILE = { id: ID('att'), filename: 'a.txt', content_type: 'text/plain', content_id: null, size: 3 };

/** Of a thread, or of none. */
function judgeMessage(doc: Document): void {
  const threaded = doc['thread_id'] !== null;
  expect(doc).toEqual({
    object: 'message',
    id: ID('msg'),
    status: doc['status'],
    ...(threaded ? { inbox_id: ID('ibx'), thread_id: ID('thr') } : { inbox_id: null, thread_id: null }),
    rule_id: null,
    in_reply_to: null,
    message_id: expect.stringMatching(/^<msg_\w+@mail\.example>$/),
    from: 'Ann <ann@shop.example>',
    to: ['a@in.example'],
    cc: [],
    reply_to: [],
    received_for: ['a@in.example'],
    subject: 'Hi',
    text: 'Hello',
    text_truncated: false,
    received_at: TIME,
    size: 1_000,
    attachments: threaded ? [] : [FILE],
    auth: { spf: 'pass', dkim: 'none', dmarc: 'none' },
    automatic: false,
    held_reason: doc['status'] === 'received' ? null : 'spam',
    complete: true,
  });
  expect(['received', 'held', 'released']).toContain(doc['status']);
}

const message = { ...inbox, noun: 'message', success: '200 json' } as const;
const heldMail = ['404 not-found', '403 held-needs-manage'];

const messageContracts: Readonly<Record<string, RouteContract>> = {
  'GET /v1/inbound/messages': {
    ...inbox,
    paged: true,
    success: '200 json',
    refusals: ['422 validation-failed', '403 held-needs-manage'],
    parameters: {
      status: ['received', 'held', 'released'],
      inbox_id: ['ibx_01jd0000000000000000000001'],
      limit: ['1', '2', '100'],
    },
    judge: judgePage(judgeMessage),
  },
  'GET /v1/inbound/messages/:id': {
    ...message,
    refusals: heldMail,
    judge({ html, html_truncated: truncated, headers, released_at: releasedAt, ...doc }) {
      expect({ html, truncated, headers, releasedAt }).toEqual({
        html: null,
        truncated: false,
        headers: [{ name: 'Subject', value: 'Hi' }],
        releasedAt: null,
      });
      judgeMessage(doc);
    },
  },
  'GET /v1/inbound/messages/:id/body': {
    ...message,
    success: '200 file',
    refusals: [...heldMail, '422 validation-failed'],
    query: '?part=text',
    parameters: { part: ['text'] },
    judge: () => undefined,
  },
  'GET /v1/inbound/messages/:id/raw': {
    ...message,
    refusals: heldMail,
    judge: (doc) => expect(doc).toEqual(LINK),
  },
  'GET /v1/inbound/messages/:id/attachments': {
    ...message,
    refusals: heldMail,
    judge: (doc) => expect(doc).toEqual({ object: 'list', has_more: false, data: [{ ...FILE, ...LINK }] }),
  },
  'GET /v1/inbound/messages/:id/attachments/:attachment': {
    ...message,
    refusals: heldMail,
    judge: (doc) => expect(doc).toEqual({ object: 'attachment', ...FILE, ...LINK }),
  },
  'POST /v1/inbound/messages/:id/release': {
    ...message,
    noun: 'heldMessage',
    refusals: ['404 not-found', '409 not-held', '400 text', '422 validation-failed', '413 request-too-large'],
    body: noFields,
    judge: (doc) => expect(doc).toEqual({ object: 'message', id: ID('msg'), status: 'released' }),
  },
  'GET /links/:id': {
    keyed: false,
    noun: 'link',
    success: '200 file',
    part: '206 file',
    absent: '404 link-expired',
    refusals: ['404 link-expired'],
    judge: () => undefined,
  },
};

const MESSAGE_TYPES = ['message.received', 'message.held'];
/** Live keys alone. */
const live = { keyed: true } as const;
const BODY_REFUSALS = ['400 text', '422 text', '422 validation-failed', '413 request-too-large'];

function judgeRoute(doc: Document, more: object): void {
  const { events, ...rest } = doc;
  expect(rest).toEqual({
    object: 'inbound_route',
    id: ID('rt'),
    match: expect.stringMatching(new RegExp(`^[^A-Z+]+@${SHARED_DOMAIN}$`)),
    endpoint: expect.stringMatching(/^https:\/\//),
    webhook: ID('wh'),
    created_at: TIME,
    ...more,
  });
  expect(MESSAGE_TYPES).toEqual(expect.arrayContaining(events as string[]));
  expect((events as string[]).length).toBe(new Set(events as string[]).size);
  expect(events).not.toEqual([]);
}

const judgeRouteEntry = (doc: Document): void =>
  judgeRoute(doc, { name: doc['name'] === null ? null : expect.any(String) });

const judgeBlockedSender = (doc: Document): void => {
  expect(doc).toEqual({
    object: 'blocked_sender',
    id: ID('bs'),
    sender: expect.stringMatching(/^[^A-Z]+\.[^A-Z]+$/),
    created_at: TIME,
  });
};

const ruleLaws: Readonly<Record<string, RouteContract>> = {
  'POST /v1/inbound/routes': {
    ...live,
    success: '201 json',
    again: '409 route-exists',
    refusals: BODY_REFUSALS,
    body: resourceBody(
      ['match', 'endpoint'],
      [
        { match: `rule-${MARK}@${SHARED_DOMAIN}`, endpoint: `https://${MARK}.example` },
        {
          match: `Rule-A-${MARK}+tag@${SHARED_DOMAIN.toUpperCase()}`,
          endpoint: `HTTPS://${MARK}.example:443/#x`,
          events: [],
          name: null,
        },
        {
          match: `rule-b-${MARK}@${SHARED_DOMAIN}`,
          endpoint: `https://b\u00fccher.example/${MARK}`,
          events: ['message.held', 'message.received', 'message.held'],
          name: `\u{1f389} ${MARK}`,
          more: [1],
        },
      ],
    ),
    judge: (doc) => judgeRoute(doc, SECRETS),
  },
  'GET /v1/inbound/routes': {
    ...live,
    paged: true,
    success: '200 json',
    refusals: ['422 validation-failed'],
    judge: judgePage(judgeRouteEntry),
  },
  'GET /v1/inbound/routes/:id': {
    ...live,
    noun: 'routingRule',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: judgeRouteEntry,
  },
  'DELETE /v1/inbound/routes/:id': {
    ...live,
    noun: 'routingRule',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'inbound_route', id: ID('rt'), deleted: true }),
  },
};

const blockedSenderLaws: Readonly<Record<string, RouteContract>> = {
  'POST /v1/inbound/blocked-senders': {
    ...live,
    success: '200 json',
    refusals: BODY_REFUSALS,
    body: resourceBody('sender', [
      { sender: `${MARK}@a.example` },
      { sender: `B\u00fccher.${MARK}.example`, more: {} },
    ]),
    judge: judgeBlockedSender,
  },
  'GET /v1/inbound/blocked-senders': {
    ...live,
    paged: true,
    success: '200 json',
    refusals: ['422 validation-failed'],
    judge: judgePage(judgeBlockedSender),
  },
  'GET /v1/inbound/blocked-senders/:id': {
    ...live,
    noun: 'blockedSender',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: judgeBlockedSender,
  },
  'DELETE /v1/inbound/blocked-senders/:id': {
    ...live,
    noun: 'blockedSender',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'blocked_sender', id: ID('bs'), deleted: true }),
  },
};

export const inboundContracts: Readonly<Record<string, RouteContract>> = {
  ...ruleLaws,
  ...blockedSenderLaws,
  'POST /v1/inboxes': {
    ...inbox,
    success: '201 json',
    again: '409 inbox-exists',
    refusals: ['400 text', '422 text', '422 validation-failed', '403 inbox-limit', '413 request-too-large'],
    body: resourceBody('email_address', [
      { email_address: `${MARK}@${SHARED_DOMAIN}` },
      {
        email_address: `A-${MARK}+tag@${SHARED_DOMAIN.toUpperCase()}`,
        name: `\u{1f389} ${MARK}`,
        from_name: null,
      },
      {
        email_address: `b-${MARK}@${SHARED_DOMAIN}`,
        name: null,
        from_name: MARK,
        forwarding: true,
        more: [1],
      },
    ]),
    judge: (doc) => expect(doc).toEqual({ object: 'inbox', id: ID('ibx') }),
  },
  'GET /v1/inboxes': {
    ...inbox,
    paged: true,
    success: '200 json',
    refusals: ['422 validation-failed'],
    judge: judgePage(judgeInbox),
  },
  'GET /v1/inboxes/:id': {
    ...inbox,
    noun: 'inbox',
    success: '200 json',
    refusals: ['404 not-found'],
    judge({ object, domain_id: domain, receiving_address: receiving, drafts, ...doc }) {
      expect({ object, domain, receiving, drafts }).toEqual({
        object: 'inbox',
        domain: '',
        drafts: 0,
        receiving: doc['email_address'],
      });
      judgeInbox(doc);
    },
  },
  'PATCH /v1/inboxes/:id': {
    ...inbox,
    noun: 'inbox',
    success: '200 json',
    refusals: ['400 text', '422 text', '422 validation-failed', '404 not-found', '413 request-too-large'],
    body: resourceBody('name', [{ name: MARK }, { name: `\u{1f389} ${MARK}`, more: [1] }]),
    judge: (doc) => expect(doc).toEqual({ object: 'inbox', id: ID('ibx') }),
  },
  'DELETE /v1/inboxes/:id': {
    ...inbox,
    noun: 'inbox',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'inbox', id: ID('ibx'), deleted: true }),
  },
  ...messageContracts,
  ...threadContracts,
};

/** Whether a route is about received mail, inboxes or links to its files. */
export function isInboundPath(path: string): boolean {
  return /^\/(v1\/(inbound|inboxes|emails\/receiving)|links)(\/|$)/.test(path);
}
