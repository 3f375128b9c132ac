import type { History, Receipt, StoredAttempt } from './history.ts';

/*
 * A small history without violations, for the checker's tests. One event goes to two endpoints. One answers
 * 200, the other 503 and then 200. Times are small numbers: only their differences matter.
 */

const DELAY_MS = 100;
const EVENT = 'evt_1';
export const QUICK = 'wh_quick';
export const FAILING = 'wh_failing';
const CREATED_AT_MS = 1_000_000;

export function receipt(webhookId: string, atMs: number, status: number | null): Receipt {
  return {
    eventId: EVENT,
    webhookId,
    arrivedAtMs: CREATED_AT_MS + atMs,
    bodyEventId: EVENT,
    bodySha256: 'same',
    signature: 'valid',
    signedAt: Math.floor((CREATED_AT_MS + atMs) / 1000),
    status,
    answeredAtMs: status === null ? null : CREATED_AT_MS + atMs + 5,
  };
}

export function attempt(
  webhookId: string,
  number: number,
  atMs: number,
  status: number | null,
): StoredAttempt {
  return {
    deliveryId: `of ${webhookId}`,
    eventId: EVENT,
    webhookId,
    attempt: number,
    startedAtMs: CREATED_AT_MS + atMs - 1,
    durationMs: 7,
    status,
  };
}

export function rightHistory(): History {
  const webhook = {
    accountId: 'acct_1',
    types: [],
    createdAtMs: 0,
    foreign: false,
    mayGiveUp: false,
    removed: null,
  };
  return {
    causes: [
      { cause: 'cause_1', kind: 'direct', outcome: 'ok', id: EVENT, beganAtMs: 0, endedAtMs: 1 },
      { cause: 'subject 1', kind: 'email', outcome: 'ok', id: 'em_1', beganAtMs: 0, endedAtMs: 1 },
      { cause: 'cause_2', kind: 'direct', outcome: 'failed', id: null, beganAtMs: 0, endedAtMs: 1 },
    ],
    receipts: [receipt(QUICK, 10, 200), receipt(FAILING, 10, 503), receipt(FAILING, 130, 200)],
    handOvers: ['em_1'],
    webhooks: [
      { ...webhook, webhookId: QUICK },
      { ...webhook, webhookId: FAILING },
    ],
    faults: [
      {
        name: 'FLUSHALL',
        atMs: CREATED_AT_MS + 12,
        endedAtMs: CREATED_AT_MS + 12,
        mayRepeat: false,
        inFlight: [`${EVENT} ${QUICK}`],
        mailInFlight: [],
      },
    ],
    replays: [],
    canaryConnections: 0,
    use: [{ what: 'memory of a worker', unit: 'MiB', most: 200, max: 200 }],
    neighbours: [{ quietMs: [1, 5, 3], troubledMs: [20, 50, 30] }],
    recoveryMs: 10,
    store: {
      causes: [{ id: 'cause_1', eventId: EVENT }],
      emails: [{ id: 'em_1', subject: 'subject 1', status: 'sent' }],
      messages: [],
      events: [
        {
          id: EVENT,
          accountId: 'acct_1',
          type: 'email.sent',
          createdAtMs: CREATED_AT_MS,
          emailId: 'cause_1',
          messageId: null,
        },
        {
          id: 'evt_2',
          accountId: 'acct_2',
          type: 'email.sent',
          createdAtMs: CREATED_AT_MS,
          emailId: 'em_1',
          messageId: null,
        },
      ],
      attempts: [attempt(QUICK, 1, 10, 200), attempt(FAILING, 1, 10, 503), attempt(FAILING, 2, 130, 200)],
      deadLetters: [],
      deliveries: [],
    },
    rules: {
      retryDelaysMs: [DELAY_MS, DELAY_MS],
      earlyToleranceMs: 5,
      signedWithinMs: 2_000,
      afterRemovalMs: 1_000,
      recoveryMsMax: 1_000,
      neighbourRatioMax: 10,
    },
  };
}
