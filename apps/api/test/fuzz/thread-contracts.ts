import { expect } from '@jest/globals';
import { judgePage, resourceBody } from './resource-contracts.ts';
import { ID, MARK, TIME } from './route-contract.ts';
import type { RouteContract } from './route-contract.ts';

type Document = Readonly<Record<string, unknown>>;

const THREAD_TEXTS = { subject: 'Hi', folder: 'inbox', labels: [] };
const threaded = { keyed: true, ofMail: true, noun: 'threadedInbox', success: '200 json' } as const;

function judgeThread(doc: Document): void {
  expect(doc).toEqual({
    id: ID('thr'),
    ...THREAD_TEXTS,
    from: 'Ann <ann@shop.example>',
    to: ['a@in.example'],
    cc: [],
    bcc: [],
    email_count: 1,
    has_attachment: expect.any(Boolean),
    has_draft: false,
    read: false,
    received_at: TIME,
  });
}

function judgeSummary(doc: Document): void {
  expect(doc).toEqual({ object: 'inbox_thread', id: ID('thr'), ...THREAD_TEXTS, read: expect.any(Boolean) });
}

function judgeThreadEmail(doc: Document): void {
  expect(doc).toEqual({
    id: ID('msg'),
    direction: 'inbound',
    from: 'Ann <ann@shop.example>',
    to: ['a@in.example'],
    cc: [],
    bcc: [],
    reply_to: [],
    subject: 'Hi',
    message_id: expect.any(String),
    html: null,
    html_truncated: false,
    text: 'Hello',
    text_truncated: false,
    complete: true,
    attachments: expect.any(Array),
    read: false,
    received_at: TIME,
  });
}

export const threadContracts: Readonly<Record<string, RouteContract>> = {
  'GET /v1/inboxes/:id/threads': {
    ...threaded,
    paged: true,
    refusals: ['404 not-found', '422 validation-failed'],
    parameters: { read: ['true', 'false'], folders: ['inbox'], labels: ['x'], limit: ['1', '100'] },
    judge: judgePage(judgeThread),
  },
  'GET /v1/inboxes/:id/threads/search': {
    ...threaded,
    paged: true,
    refusals: ['404 not-found', '422 validation-failed'],
    parameters: {
      query: ['hi'],
      from: ['ann@shop.example'],
      to: ['a@in.example,x'],
      cc: ['x'],
      bcc: ['x'],
      has_attachment: ['true', 'false'],
      start_date: ['2026-01-01', '2026-01-01T00:00:00Z'],
      end_date: ['2999-01-01'],
      read: ['true', 'false'],
      folders: ['inbox'],
      labels: ['x'],
      limit: ['1', '100'],
    },
    judge: judgePage(({ matched_email_id: matched, ...doc }) => {
      expect(matched).toEqual(ID('msg'));
      judgeThread(doc);
    }),
  },
  'GET /v1/inboxes/:id/threads/:thread': {
    ...threaded,
    refusals: ['404 not-found'],
    judge: judgeSummary,
  },
  'PATCH /v1/inboxes/:id/threads/:thread': {
    ...threaded,
    refusals: ['400 text', '422 text', '422 validation-failed', '404 not-found', '413 request-too-large'],
    body: resourceBody('read', [{ read: true, more: MARK }, { read: false }]),
    judge: judgeSummary,
  },
  'DELETE /v1/inboxes/:id/threads/:thread': {
    ...threaded,
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'inbox_thread', id: ID('thr'), deleted: true }),
  },
  'GET /v1/inboxes/:id/threads/:thread/emails': {
    ...threaded,
    paged: true,
    refusals: ['404 not-found', '422 validation-failed'],
    judge: judgePage(judgeThreadEmail),
  },
  'GET /v1/inboxes/:id/threads/:thread/emails/:email': {
    ...threaded,
    refusals: ['404 not-found'],
    judge: judgeThreadEmail,
  },
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply': {
    ...threaded,
    success: '202 json',
    idempotent: true,
    refusals: [
      ...['400 text', '422 text', '422 validation-failed', '404 not-found', '413 request-too-large'],
      ...['409 idempotency-conflict', '429 inbox-rate-limited', '429 thread-rate-limited'],
    ],
    body: {
      valid: [
        { text: MARK },
        { html: `<p>${MARK}</p>`, cc: 'c@c.example', bcc: ['d@d.example'], subject: MARK, reply_all: true },
      ],
      bytesMax: 4 * 1024 * 1024,
      tooLarge: '413 request-too-large',
      unreadable: '400 text',
      lacking: { fields: [], kind: '422 text', object: true, afterPath: true },
    },
    judge: (doc) => expect(doc).toEqual({ id: ID('em') }),
  },
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/forward': {
    ...threaded,
    success: '202 json',
    idempotent: true,
    refusals: [
      ...['400 text', '422 text', '422 validation-failed', '404 not-found', '413 request-too-large'],
      ...['409 idempotency-conflict', '429 inbox-rate-limited', '429 thread-rate-limited'],
    ],
    body: {
      valid: [
        { to: 'c@c.example', text: MARK },
        { to: ['c@c.example', 'd@d.example'], cc: 'e@e.example', html: `<p>${MARK}</p>`, subject: MARK },
      ],
      bytesMax: 4 * 1024 * 1024,
      tooLarge: '413 request-too-large',
      unreadable: '400 text',
      lacking: { fields: ['to'], kind: '422 text', afterPath: true },
    },
    judge: (doc) => expect(doc).toEqual({ id: ID('em') }),
  },
};
