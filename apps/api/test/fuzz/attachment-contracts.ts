import { expect } from '@jest/globals';
import { LINK } from './inbound-contracts.ts';
import { judgePage } from './resource-contracts.ts';
import { ID, TIME } from './route-contract.ts';
import type { RouteContract } from './route-contract.ts';

type Document = Readonly<Record<string, unknown>>;

const received = { keyed: true, ofMail: true, noun: 'message', success: '200 json' } as const;
const REFUSALS = ['404 not-found', '403 held-needs-manage', '422 validation-failed'];

/** Of a thread, or of none. */
function judgeReceived({ attachments, ...doc }: Document): void {
  expect(doc).toEqual({
    id: ID('msg'),
    message_id: expect.stringMatching(/^<msg_\w+@mail\.example>$/),
    from: 'Ann <ann@shop.example>',
    to: ['a@in.example'],
    cc: [],
    bcc: [],
    reply_to: [],
    received_for: ['a@in.example'],
    subject: 'Hi',
    complete: true,
    created_at: TIME,
  });
  const file = {
    id: ID('att'),
    filename: 'a.txt',
    content_type: 'text/plain',
    content_id: null,
    content_disposition: 'attachment',
    size: 3,
  };
  for (const each of attachments as Document[]) expect(each).toEqual(file);
}

const FILE = {
  id: ID('att'),
  filename: 'a.txt',
  size: 3,
  content_type: 'text/plain',
  content_disposition: 'attachment',
  ...LINK,
};

export const receivedEmailContracts: Readonly<Record<string, RouteContract>> = {
  'GET /v1/emails/receiving': {
    keyed: true,
    ofMail: true,
    success: '200 json',
    paged: true,
    refusals: ['422 validation-failed'],
    parameters: { limit: ['1', '2', '100'] },
    judge: judgePage(judgeReceived),
  },
  'GET /v1/emails/receiving/:id': {
    ...received,
    refusals: REFUSALS,
    parameters: { html_format: ['cid', 'data_uri'] },
    judge({ object, html, html_truncated, text, text_truncated, headers, raw, ...doc }) {
      expect({ object, html, html_truncated, text, text_truncated, headers, raw }).toEqual({
        object: 'email',
        html: null,
        html_truncated: false,
        text: 'Hello',
        text_truncated: false,
        headers: { subject: 'Hi' },
        raw: LINK,
      });
      judgeReceived(doc);
    },
  },
  'GET /v1/emails/receiving/:id/attachments': {
    ...received,
    paged: true,
    refusals: REFUSALS,
    judge: judgePage((doc) => expect(doc).toEqual(FILE)),
  },
  'GET /v1/emails/receiving/:id/attachments/:attachment': {
    ...received,
    refusals: ['404 not-found', '403 held-needs-manage'],
    judge: (doc) => expect(doc).toEqual({ object: 'attachment', ...FILE }),
  },
};

const SENT_FILE = { ...FILE, id: expect.stringMatching(/^em_\w{26}[.]0$/) as unknown, size: 2 };
const sent = { keyed: true, ofMail: true, noun: 'email', success: '200 json' } as const;

export const emailAttachmentContracts: Readonly<Record<string, RouteContract>> = {
  'GET /v1/emails/:id/attachments': {
    ...sent,
    paged: true,
    refusals: ['404 not-found', '422 validation-failed'],
    judge: judgePage((doc) => expect(doc).toEqual(SENT_FILE)),
  },
  'GET /v1/emails/:id/attachments/:attachment': {
    ...sent,
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'attachment', ...SENT_FILE }),
  },
};
