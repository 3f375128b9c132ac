import { expect } from '@jest/globals';
import { createLinkTokens } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { message, padded } from './fixture.ts';
import type { Answer, ContractFixture } from './fixture.ts';
import {
  fillInboxes,
  newInboxBody,
  newReceivedMessage,
  receiveOfSize,
  replyToNewMessage,
  sendOneMore,
} from './inboxes.ts';

/** A request that is just within a limit, and one that is just over it, with its refusal. */
interface Bound {
  readonly within: (fixture: ContractFixture) => Promise<Answer>;
  readonly over: (fixture: ContractFixture) => Promise<Answer>;
  /** `422 validation-failed`; `413 text` for plain text. */
  readonly refusal: string;
  /** The `field` of the only fault in the refusal. Unset: not checked. */
  readonly field?: string;
}

/** A row of the table: its limits, each tested alone. */
export type LimitRow =
  | { readonly bounds: readonly Bound[] }
  | { readonly listed: (fixture: ContractFixture) => Promise<Answer>; readonly entries: number }
  /** A limit of mail that comes by SMTP, in bytes. */
  | {
      readonly receivedBytes: number;
      readonly receive: (fixture: ContractFixture, bytes: number) => Promise<number>;
    };

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;
const SEVEN_DAYS_MS = 7 * 24 * 60 * MINUTE_MS;
const ENDPOINT = { endpoint: 'https://hooks.example.com' };

/** Requests with two bodies: `at(0)` is just within the limit of the HTTP route, `at(1)` is just over it. */
function boundOfBody(line: string, at: (over: 0 | 1) => unknown, refusal: string): Bound {
  return {
    within: ({ call }) => call(line, { body: at(0) }),
    over: ({ call }) => call(line, { body: at(1) }),
    refusal,
  };
}

/** One attachment, header or tag too many. The message has as many of the other two as it may have. */
function boundOfCount(field: 'attachments' | 'headers' | 'tags'): Bound {
  const at = (over: 0 | 1) => fullMessage({ [field]: over });
  return { ...boundOfBody('POST /v1/emails', at, '422 validation-failed'), field };
}

function repeated<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

const batch = (messages: number) => repeated(messages, () => message());
const recipients = (over: 0 | 1) =>
  message({ to: repeated(20 + over, (n) => `t${n}@b.example`), cc: repeated(30, (n) => `c${n}@b.example`) });
type Surplus = Partial<Record<'attachments' | 'headers' | 'tags', 0 | 1>>;
const fullMessage = ({ attachments = 0, headers = 0, tags = 0 }: Surplus) =>
  message({
    attachments: repeated(50 + attachments, (n) => ({ filename: `${n}.txt`, content: 'aGk=' })),
    headers: Object.fromEntries(repeated(50 + headers, (n) => [`X-H${n}`, '1'])),
    tags: repeated(50 + tags, (n) => ({ name: `t${n}`, value: '1' })),
  });

const replyOver = (over: 0 | 1) => ({ text: 'x'.repeat(256 * KIB), html: 'x'.repeat(256 * KIB + over) });

/** Makes a key and spends this many requests of its limit. @param limit unset: the deployment's default */
async function keyWithSpent(
  fixture: ContractFixture,
  limit: number | undefined,
  requests: number,
): Promise<string> {
  const key = await fixture.newKey({ kind: 'test', ...(limit === undefined ? {} : { limit }) });
  for (let n = 0; n < requests;) {
    const { status } = await fixture.call('GET /v1/emails', { key });
    // On a busy machine a request may fail before it is counted. It has consumed nothing.
    if (status === 200) n += 1;
  }
  return key;
}

/** Adds an inbox to an account that has this many already, of live and of test keys. @returns the answer */
async function lastInbox(fixture: ContractFixture, inboxes: number): Promise<Answer> {
  const { call, newKey, newAccount } = fixture;
  const accountId = await newAccount();
  const [live, test] = [
    await newKey({ accountId, limit: 200 }),
    await newKey({ accountId, kind: 'test', limit: 200 }),
  ];
  await fillInboxes(fixture, accountId, inboxes - 1);
  expect(await call('POST /v1/inboxes', { key: test, body: newInboxBody() })).toMatchObject({ status: 201 });
  return call('POST /v1/inboxes', { key: live, body: newInboxBody() });
}

/** Opens a link that was made this long ago. @returns the answer */
async function openLinkOfAge(fixture: ContractFixture, ageMs: number): Promise<Answer> {
  const messageId = await newReceivedMessage(fixture);
  const tokens = createLinkTokens([fixture.secretsKey], { now: () => new Date(Date.now() - ageMs) });
  const { token } = tokens.seal({ messageId, attachmentId: null });
  return fixture.call(`GET /links/${token}`, { key: null });
}

/** The tests of contract 8, by the first cell of its rows. */
export const LIMIT_ROWS: Readonly<Record<string, LimitRow>> = {
  'Requests per API key': {
    bounds: [
      {
        within: async (fixture) =>
          fixture.call('GET /v1/emails', { key: await keyWithSpent(fixture, undefined, 59) }),
        over: async (fixture) =>
          fixture.call('GET /v1/emails', { key: await keyWithSpent(fixture, undefined, 60) }),
        refusal: '429 rate-limited',
      },
    ],
  },
  'Batch cost': {
    bounds: [
      {
        within: async (fixture) =>
          fixture.call('POST /v1/emails/batch', {
            key: await keyWithSpent(fixture, 4, 1),
            body: batch(3),
          }),
        over: async (fixture) =>
          fixture.call('POST /v1/emails/batch', {
            key: await keyWithSpent(fixture, 3, 1),
            body: batch(3),
          }),
        refusal: '429 rate-limited',
      },
    ],
  },
  'Inbox sends': {
    bounds: [
      {
        within: async (fixture) => sendOneMore(fixture, 59),
        over: async (fixture) => sendOneMore(fixture, 60),
        refusal: '429 inbox-rate-limited',
      },
    ],
  },
  Thread: {
    bounds: [
      {
        within: async (fixture) => sendOneMore(fixture, 9, { thread: true }),
        over: async (fixture) => sendOneMore(fixture, 10, { thread: true }),
        refusal: '429 thread-rate-limited',
      },
    ],
  },
  'Inboxes per account': {
    bounds: [
      {
        within: async (fixture) => lastInbox(fixture, 99),
        over: async (fixture) => lastInbox(fixture, 100),
        refusal: '403 inbox-limit',
      },
    ],
  },
  'One message incl. attachments after base64': {
    bounds: [
      boundOfBody(
        'POST /v1/emails',
        (over) => {
          const content = Buffer.alloc(3 * MIB).toString('base64');
          return message({ text: 'x'.repeat(MIB + over), attachments: [{ filename: 'a', content }] });
        },
        '422 validation-failed',
      ),
    ],
  },
  '`POST /v1/emails` body': {
    bounds: [boundOfBody('POST /v1/emails', (over) => padded(message(), 8 * MIB + over), '413 text')],
  },
  '`POST /v1/emails/batch` body': {
    bounds: [
      boundOfBody(
        'POST /v1/emails/batch',
        (over) => padded(batch(100), 32 * MIB + over),
        '413 request-too-large',
      ),
      boundOfBody('POST /v1/emails/batch', (over) => batch(100 + over), '422 validation-failed'),
    ],
  },
  'Bodies on all other routes': {
    bounds: [
      boundOfBody('POST /v1/webhooks', (over) => padded(ENDPOINT, 64 * KIB + over), '413 request-too-large'),
    ],
  },
  'Recipients per message (to, cc, bcc together)': {
    bounds: [{ ...boundOfBody('POST /v1/emails', recipients, '422 validation-failed'), field: 'to' }],
  },
  'Attachments, headers, tags per message': {
    bounds: [boundOfCount('attachments'), boundOfCount('headers'), boundOfCount('tags')],
  },
  'A received message': { receivedBytes: 10 * MIB, receive: receiveOfSize },
  'Text plus HTML of a reply from an inbox': {
    bounds: [
      {
        within: async (fixture) => replyToNewMessage(fixture, replyOver(0)),
        over: async (fixture) => replyToNewMessage(fixture, replyOver(1)),
        refusal: '422 validation-failed',
      },
    ],
  },
  'Dead letters returned by the list': {
    entries: 100,
    async listed({ call, system }) {
      const rows = createRows(system.db);
      const webhook = await rows.webhook({ accountId: system.accountId });
      const event = await rows.event({ accountId: system.accountId });
      for (let n = 0; n < 101; n += 1) await rows.deadLetter(webhook, event);
      return call('GET /v1/webhooks/dead-letters');
    },
  },
  'Attachment link validity': {
    bounds: [
      {
        within: (fixture) => openLinkOfAge(fixture, SEVEN_DAYS_MS - MINUTE_MS),
        over: (fixture) => openLinkOfAge(fixture, SEVEN_DAYS_MS),
        refusal: '404 link-expired',
      },
    ],
  },
};
