import { expect } from '@jest/globals';
import { writeCursor } from '../../src/routes/attempts.ts';
import { writeEventCursor } from '../../src/routes/events.ts';
import { noFields } from './resource-contracts.ts';
import { ID, TIME } from './route-contract.ts';
import type { RouteContract } from './route-contract.ts';

const manage = { keyed: true, refusals: [] } as const;

const events = {
  ...manage,
  paged: true,
  strictQuery: true,
  success: '200 json',
  parameters: {
    type: ['email.sent', 'email.opened'],
    since: ['2026-01-01T00:00:00Z'],
    until: ['2026-01-01T00:00:00%2B01:00'],
    after: [writeEventCursor(0n)],
    limit: ['1', '2', '100'],
  },
  judge: ({ has_more: more, next_cursor: next, ...list }: Readonly<Record<string, unknown>>) => {
    expect({ more, next }).toEqual({ more: expect.any(Boolean), next: expect.any(String) });
    judgeList(list, judgeEvent);
  },
} as const;

export const eventContracts: Readonly<Record<string, RouteContract>> = {
  'GET /v1/events': {
    ...events,
    refusals: ['422 validation-failed'],
    parameters: {
      ...events.parameters,
      recipient: ['b@b.example', 'B@B.example'],
      email_id: ['em_01jd0000000000000000000001'],
    },
  },
  'GET /v1/emails/:id/events': {
    ...events,
    noun: 'email',
    refusals: ['404 not-found', '422 validation-failed'],
  },
  'GET /v1/webhooks/:id/events': {
    ...events,
    noun: 'eventedWebhook',
    refusals: ['404 not-found', '422 validation-failed'],
    parameters: {
      ...events.parameters,
      after: [writeEventCursor(0n), writeEventCursor(2n ** 63n - 1n)],
      recipient: ['b@b.example'],
      email_id: ['em_01jd0000000000000000000001'],
      status: ['pending', 'attempting', 'success', 'failed'],
    },
    judge: ({ has_more: more, next_cursor: next, ...list }) => {
      expect({ more, next }).toEqual({ more: expect.any(Boolean), next: expect.any(String) });
      judgeList(list, judgeWebhookEvent);
    },
  },
  'GET /v1/webhooks/:id/events/:event': {
    ...manage,
    noun: 'eventedWebhook',
    success: '200 json',
    refusals: ['404 not-found'],
    judge({ object, payload, ...doc }) {
      expect(object).toBe('webhook_event');
      judgeWebhookEvent(doc);
      judgeEvent(payload as Readonly<Record<string, unknown>>);
    },
  },
  'POST /v1/webhooks/:id/events/:event/replay': {
    ...manage,
    noun: 'eventedWebhook',
    success: '200 json',
    refusals: ['404 not-found', '400 text', '422 validation-failed', '413 request-too-large'],
    body: noFields,
    judge: (doc) => expect(doc).toEqual({ object: 'webhook_event', id: ID('evt') }),
  },
  'GET /v1/webhooks/:id/events/:event/attempts': {
    ...manage,
    noun: 'eventedWebhook',
    paged: true,
    strictQuery: true,
    success: '200 json',
    refusals: ['404 not-found', '422 validation-failed'],
    parameters: {
      after: [writeCursor({ startedUs: 8_640_000_000_000_000_000n, deliveryId: 1n, attempt: 1 })],
      limit: ['1', '2', '100'],
    },
    judge: ({ has_more: more, ...list }) => {
      expect(more).toEqual(expect.any(Boolean));
      judgeList(list, (doc) =>
        expect(doc).toEqual({
          id: expect.any(String),
          http_status_code: 503,
          response: 'busy',
          sent_at: TIME,
          attempt: 1,
          duration_ms: 12,
          error: 'HTTP 503',
        }),
      );
    },
  },
  'POST /v1/webhooks/:id/recover': {
    ...manage,
    noun: 'webhook',
    success: '202 json',
    refusals: ['404 not-found', '400 text', '422 text', '422 validation-failed', '413 request-too-large'],
    body: {
      valid: [
        { since: '2026-01-01T00:00:00Z', dry_run: true },
        {
          since: '2026-01-01T00:00:00Z',
          until: '2026-01-02T00:00:00+01:00',
          types: ['email.sent', 'email.sent'],
          only: 'all',
          dry_run: true,
          rate: 2_000,
        },
      ],
      bytesMax: 65_536,
      tooLarge: '413 request-too-large',
      unreadable: '400 text',
      lacking: { fields: ['since'], kind: '422 text' },
    },
    judge: ({ id, dry_run: isDry, oldest, newest, ...doc }) => {
      expect({ id, isDry }).toEqual(isDry === true ? { id: null, isDry } : { id: ID('rec'), isDry: false });
      expect([oldest, newest]).toEqual(oldest === null ? [null, null] : [TIME, TIME]);
      const counts = { matched: NUMBER, dead_letters: NUMBER, unknown: NUMBER, has_more: false };
      expect(doc).toEqual({ ...RECOVERY, ...counts, counted_at: TIME });
    },
  },
  'GET /v1/webhooks/:id/recoveries': {
    ...manage,
    noun: 'recoveredWebhook',
    paged: true,
    strictQuery: true,
    success: '200 json',
    refusals: ['404 not-found', '422 validation-failed'],
    parameters: { after: [], limit: ['1', '2', '100'] },
    judge: ({ has_more: more, ...list }) => {
      expect(more).toEqual(expect.any(Boolean));
      judgeList(list, judgeRecovery);
    },
  },
  'GET /v1/webhooks/:id/recoveries/:recovery': {
    ...manage,
    noun: 'recoveredWebhook',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: judgeRecovery,
  },
  'DELETE /v1/webhooks/:id/recoveries/:recovery': {
    ...manage,
    noun: 'recoveredWebhook',
    success: '200 json',
    refusals: ['404 not-found'],
    judge: judgeRecovery,
  },
};

const NUMBER = expect.any(Number);
const RECOVERY = {
  object: 'recovery',
  webhook: ID('wh'),
  since: TIME,
  until: TIME,
  types: expect.any(Array),
  only: expect.stringMatching(/^(?:undelivered|all)$/),
  rate: NUMBER,
};

function judgeRecovery({ ended_at: endedAt, ...doc }: Readonly<Record<string, unknown>>): void {
  const { status } = doc;
  expect({ status, endedAt }).toEqual(
    status === 'running' ? { status, endedAt: null } : { status: 'stopped', endedAt: TIME },
  );
  const counts = {
    matched: NUMBER,
    dead_letters: NUMBER,
    has_more: false,
    queued: NUMBER,
    delivered: NUMBER,
  };
  const rest = { failed: NUMBER, in_progress: NUMBER, left: NUMBER, created_at: TIME };
  expect(doc).toEqual({ ...RECOVERY, id: ID('rec'), status, ...counts, ...rest });
}

function judgeWebhookEvent(doc: Readonly<Record<string, unknown>>): void {
  expect(doc).toEqual({
    id: ID('evt'),
    type: expect.any(String),
    created_at: TIME,
    status: expect.stringMatching(/^(?:pending|attempting|success|failed)$/),
    delivery: expect.stringMatching(/^(?:queued|delivered|dead_letter|dropped|unknown)$/),
    attempts: expect.any(Number),
    next_attempt_at: doc['next_attempt_at'] === null ? null : TIME,
    dead_letter: doc['dead_letter'] === null ? null : ID('dl'),
  });
}

function judgeEvent(doc: Readonly<Record<string, unknown>>): void {
  expect(doc).toEqual({
    id: ID('evt'),
    type: expect.stringMatching(/^(?:email|message)\./),
    subject: ID('acct'),
    created_at: TIME,
    data: expect.any(Object),
  });
}

export function judgeList(
  { object, data, ...more }: Readonly<Record<string, unknown>>,
  judge: (entry: Readonly<Record<string, unknown>>) => void,
): void {
  expect({ object, more }).toEqual({ object: 'list', more: {} });
  // The newest; the list grows with every request.
  for (const entry of (data as Readonly<Record<string, unknown>>[]).slice(0, 10)) judge(entry);
}
