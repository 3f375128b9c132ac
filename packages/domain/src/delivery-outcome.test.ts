import { describe, expect, test } from '@jest/globals';
import { decideOutcome } from './delivery-outcome.ts';
import type { AttemptResult, DeliveryOutcome } from './delivery-outcome.ts';
import { CONTRACT_RETRY_DELAYS_SECONDS, retrySchedule } from './retry-schedule.ts';

const schedule = retrySchedule(CONTRACT_RETRY_DELAYS_SECONDS);
const answered = (statusCode: number): AttemptResult => ({ kind: 'answered', statusCode });
const failed = (error: string): AttemptResult => ({ kind: 'failed', error });
const refused = (error: string): AttemptResult => ({ kind: 'refused', error });
const retry = (delayMs: number, lastError: string): DeliveryOutcome => ({
  kind: 'retry',
  delayMs,
  lastError,
});
const dead = (reason: 'attempts_exhausted' | 'rejected', lastError: string): DeliveryOutcome => ({
  kind: 'dead',
  reason,
  lastError,
});
const done: DeliveryOutcome = { kind: 'done' };

type Row = readonly [trigger: string, result: AttemptResult, attempt: number, next: DeliveryOutcome];

describe('contract section 3, row by row', () => {
  const rows: readonly Row[] = [
    // queued | endpoint answers any 2xx | done
    ['200', answered(200), 1, done],
    ['201', answered(201), 1, done],
    ['204', answered(204), 1, done],
    ['299', answered(299), 1, done],
    ['a 2xx on the last attempt', answered(200), 8, done],

    // queued | endpoint answers 410 | dead-lettered, rejected, at once
    ['410 on the first attempt', answered(410), 1, dead('rejected', 'HTTP 410')],
    ['410 on the last attempt', answered(410), 8, dead('rejected', 'HTTP 410')],

    // queued | any other answer, a timeout, or no answer, fewer than 8 failed attempts | queued
    ['0, which is no status', answered(0), 1, retry(30_000, 'HTTP 0')],
    ['101', answered(101), 1, retry(30_000, 'HTTP 101')],
    ['199', answered(199), 1, retry(30_000, 'HTTP 199')],
    ['300', answered(300), 1, retry(30_000, 'HTTP 300')],
    ['a redirect', answered(302), 1, retry(30_000, 'HTTP 302')],
    ['404', answered(404), 1, retry(30_000, 'HTTP 404')],
    ['409', answered(409), 1, retry(30_000, 'HTTP 409')],
    ['411', answered(411), 1, retry(30_000, 'HTTP 411')],
    ['429', answered(429), 1, retry(30_000, 'HTTP 429')],
    ['500', answered(500), 1, retry(30_000, 'HTTP 500')],
    ['999', answered(999), 1, retry(30_000, 'HTTP 999')],
    ['a timeout', failed('timeout after 10000 ms'), 1, retry(30_000, 'timeout after 10000 ms')],
    ['no answer', failed('connect ECONNREFUSED'), 1, retry(30_000, 'connect ECONNREFUSED')],
    ['the second failure', answered(503), 2, retry(60_000, 'HTTP 503')],
    ['the third failure', answered(503), 3, retry(120_000, 'HTTP 503')],
    ['the fourth failure', answered(503), 4, retry(240_000, 'HTTP 503')],
    ['the fifth failure', answered(503), 5, retry(480_000, 'HTTP 503')],
    ['the sixth failure', answered(503), 6, retry(960_000, 'HTTP 503')],
    ['the seventh failure', answered(503), 7, retry(1_920_000, 'HTTP 503')],

    // queued | 8 attempts have failed | dead-lettered, attempts_exhausted
    ['the eighth answer', answered(500), 8, dead('attempts_exhausted', 'HTTP 500')],
    ['the eighth silence', failed('TLS: expired'), 8, dead('attempts_exhausted', 'TLS: expired')],

    // queued | delivery to a private, loopback or cloud-metadata address | dead-lettered, always
    ['a refused address, first', refused('refused address'), 1, dead('rejected', 'refused address')],
    ['a refused address, later', refused('refused address'), 8, dead('rejected', 'refused address')],
  ];

  test.each(rows)('%s', (_trigger, result, attempt, next) => {
    expect(decideOutcome(result, attempt, schedule)).toEqual(next);
  });

  test('every status from 0 to 999 is done for 2xx, rejected for 410, and tried again otherwise', () => {
    const kinds = Array.from(
      { length: 1000 },
      (_, status) => decideOutcome(answered(status), 1, schedule).kind,
    );
    expect(kinds.flatMap((kind, status) => (kind === 'done' ? [status] : []))).toEqual(
      Array.from({ length: 100 }, (_, index) => 200 + index),
    );
    expect(kinds.flatMap((kind, status) => (kind === 'dead' ? [status] : []))).toEqual([410]);
  });

  test('an endpoint that never answers is tried exactly eight times', () => {
    const outcomes = Array.from(
      { length: 8 },
      (_, index) => decideOutcome(failed('x'), index + 1, schedule).kind,
    );
    expect(outcomes).toEqual([...Array<string>(7).fill('retry'), 'dead']);
  });
});
