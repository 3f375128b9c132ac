import { expect } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import { writeCursor } from '../../src/routes/attempts.ts';
import { FUZZED_SNS } from './fuzzed-sns.ts';
import { FUZZED_WEBHOOK, ID, MARK, SECRETS, TIME } from './route-contract.ts';
import type { BodyContract, RouteContract } from './route-contract.ts';
import { eventContracts, judgeList } from './event-contracts.ts';
import { inboundContracts } from './inbound-contracts.ts';
import { emailAttachmentContracts, receivedEmailContracts } from './attachment-contracts.ts';
import {
  domainContracts,
  noFields,
  suppressionContracts,
  topicContracts,
  unsubscribeContracts,
} from './resource-contracts.ts';

const manage = { keyed: true, refusals: [] } as const;
const operations = { keyed: false, refusals: [] } as const;

const MESSAGES = [
  { from: 'a@a.example', to: 'b@b.example', subject: MARK, text: 'Hi' },
  {
    from: `"${MARK}" <a@a.example>`,
    to: ['\u{1f389} <b@b.example>', 'c@b.example'],
    cc: [],
    bcc: 'd@b.example',
    reply_to: ['e@b.example'],
    subject: '\u{1f389} e\u0301',
    html: `<p>${MARK}</p>\r\n`,
    text: null,
    headers: { 'X-A': '1', 'x-b': '\u00e9' },
    tags: [{ name: 'a', value: MARK }],
    attachments: [
      {
        filename: `${MARK}.\u{1f389}`,
        content: 'AP/+',
        content_type: 'a/b; c=d',
        content_id: MARK,
        more: [],
      },
      { filename: 'empty', content: '' },
    ],
    more: 1e300,
  },
];

const send = {
  keyed: true,
  ofMail: true,
  success: '200 json',
  refusals: [
    ...['422 validation-failed', '409 idempotency-conflict'],
    ...['429 inbox-rate-limited', '429 thread-rate-limited'],
  ],
  listsFaults: true,
  idempotent: true,
} as const;

/** By method and path, as Express has them. A route without an entry fails the fuzz. */
export const ROUTE_CONTRACTS: Readonly<Record<string, RouteContract>> = {
  'GET /healthz': {
    ...operations,
    success: '200 json',
    judge: (doc) => expect(doc).toEqual({ status: 'ok' }),
  },
  'GET /readyz': {
    ...operations,
    success: '200 json',
    judge: (doc) => expect(doc).toEqual({ status: 'ready', parts: { postgres: 'ok', migrations: 'ok' } }),
  },
  'GET /openapi.json': {
    keyed: false,
    success: '200 json',
    refusals: ['413 request-too-large'],
    judge: (doc) => expect(doc).toMatchObject({ openapi: '3.1.0' }),
  },
  'GET /docs': {
    keyed: false,
    success: '200 page',
    refusals: ['413 request-too-large'],
    judge: () => undefined,
  },
  'GET /metrics': { ...operations, success: '200 metrics', judge: () => undefined },
  'POST /internal/ses/sns': {
    keyed: false,
    success: '200 json',
    refusals: ['400 validation-failed', '413 request-too-large'],
    body: {
      valid: [
        FUZZED_SNS.notification(MARK),
        FUZZED_SNS.confirmation(),
        FUZZED_SNS.notification({
          eventType: 'Bounce',
          mail: { messageId: MARK, destination: [`${MARK}@a.example`] },
          bounce: { bounceType: 'Permanent', bouncedRecipients: [{ emailAddress: `${MARK}@a.example` }] },
        }),
      ],
      bytesMax: 512 * 1024,
      tooLarge: '413 request-too-large',
      unreadable: '400 validation-failed',
      lacking: { fields: ['Signature'], kind: '400 validation-failed' },
    },
    judge: (doc) => expect(doc).toEqual({ received: true }),
  },
  'POST /v1/webhooks': {
    keyed: true,
    success: '201 json',
    refusals: ['400 text', '422 text', '422 validation-failed', '413 request-too-large'],
    body: {
      valid: [
        { endpoint: `https://${MARK}.example` },
        { endpoint: `HTTPS://${MARK}.example:443/a/../b?q=\u00fc#x`, events: [] },
        { endpoint: `https://b\u00fccher.example/${MARK}`, events: [...EVENT_TYPES] },
        {
          endpoint: `https://[2001:db8::1]:8443/${MARK}`,
          events: ['email.sent', 'email.failed', 'email.sent'],
          description: MARK,
          domains: [`${MARK}.EXAMPLE`, `${MARK}.example.`],
          headers: { 'X-A': MARK },
        },
      ],
      bytesMax: 65_536,
      tooLarge: '413 request-too-large',
      unreadable: '400 text',
      lacking: { fields: ['endpoint'], kind: '422 text' },
    },
    judge(doc) {
      judgeWebhook(doc, SECRETS);
    },
  },
  'GET /v1/webhooks': {
    ...manage,
    success: '200 json',
    judge: (doc) => judgeList(doc, judgeWebhookWithHealth),
  },
  'GET /v1/webhooks/:id': {
    ...manage,
    noun: 'webhook',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: judgeWebhookWithHealth,
  },
  'GET /v1/webhooks/:id/attempts': {
    ...manage,
    noun: 'webhook',
    paged: true,
    success: '200 json',
    refusals: ['404 not-found', '422 validation-failed'],
    parameters: {
      event_id: ['evt_01jd0000000000000000000001'],
      after: [writeCursor({ startedUs: 8_640_000_000_000_000_000n, deliveryId: 1n, attempt: 1 })],
      limit: ['1', '2', '100'],
    },
    judge({ has_more: more, next_cursor: next, ...list }) {
      expect({ more, next }).toEqual(
        more === true ? { more, next: expect.any(String) } : { more: false, next: null },
      );
      judgeList(list, judgeAttempt);
    },
  },
  ...eventContracts,
  'DELETE /v1/webhooks/:id': {
    ...manage,
    noun: 'webhook',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) => expect(doc).toEqual({ object: 'webhook', id: ID('wh'), deleted: true }),
  },
  'GET /v1/webhooks/dead-letters': {
    ...manage,
    success: '200 json',
    refusals: ['422 validation-failed'],
    paged: true,
    strictQuery: true,
    parameters: {
      webhook: [FUZZED_WEBHOOK],
      type: ['email.sent', 'email.opened'],
      reason: ['attempts_exhausted', 'rejected'],
      since: ['2026-01-01T00:00:00Z'],
      until: ['2026-01-01T00:00:00%2B01:00'],
      // No letter is there for the whole fuzz: none is accepted for certain.
      after: [],
    },
    judge: (doc) => judgeList(doc, judgeDeadLetter),
  },
  'POST /v1/webhooks/dead-letters/replay': {
    keyed: true,
    success: '200 json',
    refusals: ['400 text', '422 text', '422 validation-failed', '413 request-too-large', '404 not-found'],
    body: {
      valid: [
        { webhook: FUZZED_WEBHOOK },
        {
          webhook: FUZZED_WEBHOOK,
          since: '2025-01-01T00:00:00Z',
          until: '2026-02-01T00:00:00+01:00',
          type: 'email.sent',
          reason: 'attempts_exhausted',
          before: '2026-01-01T00:00:00Z',
        },
      ],
      // In UTC the years 0 and 10000, which Postgres does not read.
      spoilt: ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'].map(
        (value) => ({
          at: 0,
          how: { kind: 'add', name: 'before', value },
        }),
      ),
      bytesMax: 65_536,
      tooLarge: '413 request-too-large',
      unreadable: '400 text',
      lacking: { fields: ['webhook'], kind: '422 text' },
      names: true,
    },
    judge: (doc) => expect(doc).toEqual({ replayed: expect.any(Number), remaining: expect.any(Number) }),
  },
  'POST /v1/webhooks/dead-letters/:id/replay': {
    ...manage,
    noun: 'deadLetter',
    success: '200 json',
    refusals: ['404 not-found', '400 text', '422 validation-failed', '413 request-too-large'],
    body: noFields,
    judge: (doc) => expect(doc).toEqual({ id: ID('dl'), replayed: true }),
  },
  'POST /v1/emails': {
    ...send,
    refusals: [...send.refusals, '413 text', '413 request-too-large'],
    body: {
      valid: MESSAGES,
      bytesMax: 8 * 1024 * 1024,
      tooLarge: '413 text',
      unreadable: '422 validation-failed',
      lacking: null,
    },
    judge: (doc) => expect(doc).toEqual({ id: ID('em') }),
  },
  'POST /v1/emails/batch': {
    ...send,
    refusals: [...send.refusals, '413 request-too-large'],
    body: {
      valid: [[...MESSAGES], [...MESSAGES, ...MESSAGES], [MESSAGES[0]]],
      bytesMax: 32 * 1024 * 1024,
      tooLarge: '413 request-too-large',
      unreadable: '422 validation-failed',
      lacking: null,
    },
    judge({ data, ...more }) {
      expect(more).toEqual({});
      expect(data).not.toEqual([]);
      for (const each of data as unknown[]) expect(each).toEqual({ id: ID('em') });
    },
  },
  'GET /v1/emails': {
    ...manage,
    ofMail: true,
    success: '200 json',
    refusals: ['422 validation-failed'],
    paged: true,
    judge: ({ has_more: more, ...list }) => {
      expect(more).toEqual(expect.any(Boolean));
      judgeList(list, (each) =>
        expect(each).toMatchObject({ id: ID('em'), to: expect.any(Array), created_at: TIME }),
      );
    },
  },
  'GET /v1/emails/metrics': {
    ...manage,
    ofMail: true,
    strictQuery: true,
    success: '200 json',
    refusals: ['422 validation-failed'],
    parameters: {
      start_date: [new Date(Date.now() - 86_400_000).toISOString()],
      end_date: [new Date().toISOString()],
      timezone: ['Europe/Berlin', 'UTC'],
      granularity: ['hourly', 'monthly'],
      metrics: ['sent', 'open_rate,sent'],
      dimensions: ['period,domain,email'],
      domain_id: ['dom_01jd0000000000000000000001'],
      email_id: ['em_01jd0000000000000000000001'],
    },
    judge: ({ object, start_date: start, end_date: end }) =>
      expect({ object, start, end }).toEqual({ object: 'metrics', start: TIME, end: TIME }),
  },
  'GET /v1/emails/:id': {
    ...manage,
    ofMail: true,
    noun: 'email',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: (doc) =>
      expect(doc).toMatchObject({ object: 'email', id: ID('em'), created_at: TIME, scheduled_at: null }),
  },
  ...domainContracts,
  ...suppressionContracts,
  ...inboundContracts,
  ...receivedEmailContracts,
  ...emailAttachmentContracts,
  ...topicContracts,
  ...unsubscribeContracts,
};

/** Everything that the route may answer. */
export function allowedKinds(contract: RouteContract): string[] {
  const limit = contract.unlimited === true ? [] : ['429 rate-limited'];
  const gates = contract.keyed ? ['401 api-key-unauthorized', '403 api-key-forbidden', ...limit] : [];
  // What the operator alone asks for has no limit; where a body is read, its contract has one.
  const unread =
    contract.body === undefined && (contract.keyed || contract.noun !== undefined)
      ? ['413 request-too-large']
      : [];
  return [...successes(contract), ...contract.refusals, ...gates, ...unread];
}

/** What a request gets that nothing is wrong with. */
export function successes({ success, again, part }: RouteContract): string[] {
  return [success, ...(again === undefined ? [] : [again]), ...(part === undefined ? [] : [part])];
}

/** How the body contract settles a body before its values are looked at; null: the values decide. */
export function expectedRefusal(contract: BodyContract, bytes: Buffer): string | null {
  const { unreadable, lacking } = contract;
  if (bytes.length > contract.bytesMax) return contract.tooLarge;
  if (contract.unparsed === true || (bytes.length === 0 && contract.mayBeEmpty === true)) return null;
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return unreadable;
  }
  if (lacking === null) return null;
  const has = (field: string): boolean =>
    typeof body === 'object' && body !== null && Object.hasOwn(body, field);
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return (isObject || lacking.object !== true) && lacking.fields.every(has) ? null : lacking.kind;
}

function judgeWebhookWithHealth({
  failing_since: failingSince,
  last_success_at: lastSuccessAt,
  last_error: lastError,
  ...doc
}: Readonly<Record<string, unknown>>): void {
  for (const at of [failingSince, lastSuccessAt]) if (at !== null) expect(at).toEqual(TIME);
  if (lastError !== null) expect(lastError).toEqual(expect.any(String));
  const count: unknown = expect.any(Number);
  judgeWebhook(doc, {
    created_at: TIME,
    outstanding: count,
    dead_letters: count,
    dead_letters_dropped: count,
  });
}

function judgeWebhook(doc: Readonly<Record<string, unknown>>, more: object): void {
  expect(doc).toEqual({
    object: 'webhook',
    id: ID('wh'),
    endpoint: expect.stringMatching(/^https:\/\//),
    events: expect.any(Array),
    description: doc['description'],
    domains: doc['domains'],
    ...more,
  });
  expect([null, MARK]).toContain(doc['description']);
  expect([null, [`${MARK}.example`]]).toContainEqual(doc['domains']);
  const events = doc['events'] as string[];
  expect(events.length).toBeGreaterThan(0);
  expect(EVENT_TYPES).toEqual(expect.arrayContaining(events));
  expect(new Set(events).size).toBe(events.length);
}

function judgeAttempt(doc: Readonly<Record<string, unknown>>): void {
  const { attempt, ...more } = doc;
  const answered =
    attempt === 1 ? { status_code: 503, error: 'HTTP 503', response: 'busy \ufffd' } : undefined;
  expect(more).toEqual({
    object: 'attempt',
    event_id: ID('evt'),
    type: 'email.sent',
    started_at: TIME,
    duration_ms: 12,
    ...(answered ?? { status_code: null, error: 'timeout after 10000 ms', response: null }),
  });
}

function judgeDeadLetter(doc: Readonly<Record<string, unknown>>): void {
  expect(doc).toEqual({
    id: ID('dl'),
    webhook: ID('wh'),
    event_id: ID('evt'),
    type: 'email.sent',
    attempts: 8,
    reason: 'attempts_exhausted',
    last_error: 'HTTP 503',
    status_code: 503,
    created_at: TIME,
  });
}
