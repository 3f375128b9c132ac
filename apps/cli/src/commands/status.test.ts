import { expect, test } from '@jest/globals';
import type { Status } from '../read-status.ts';
import { statusInWords, statusObject } from './status.ts';

/** Each number differs from all others. */
const STATUS: Status = {
  postgres: true,
  backend: 'redis',
  pending: [],
  backlog: {
    outstanding: 1,
    dueNow: 2,
    oldestDueSeconds: 3,
    oldestFirstAttemptSeconds: 4,
    unsentEmails: 5,
    failingWebhooks: 6,
  },
  deadLetters: { attempts_exhausted: 7, rejected: 8 },
  failing: [],
  mailProvider: null,
  rights: null,
  depths: {
    fast: { waiting: 9, delayed: 10 },
    slow: { waiting: 11, delayed: 12 },
    mail: { waiting: 13, delayed: 14 },
  },
  faults: [],
};

test('each number of a status has its own name', () => {
  expect(statusObject(STATUS)).toMatchObject({
    queue: { backend: 'redis', depth: STATUS.depths },
    backlog: {
      outstanding: 1,
      due_now: 2,
      oldest_due_seconds: 3,
      oldest_first_attempt_seconds: 4,
      unsent_emails: 5,
      failing_webhooks: 6,
      dead_letters: { attempts_exhausted: 7, rejected: 8 },
    },
  });
  expect(statusInWords(STATUS).map((line) => line.replace(/ {2,}/, ': '))).toEqual([
    'WHAT: STATE',
    'Postgres: reachable',
    'Redis: reachable',
    'migrations: current',
    'deliveries outstanding: 1, due now 2',
    'oldest without a lease: due for 3.0 s',
    'oldest without an attempt: due for 4.0 s',
    'mail not sent yet: 5',
    'dead letters: 7 attempts_exhausted, 8 rejected',
    'failing webhooks: 6',
    'queue fast: 9 waiting, 10 delayed',
    'queue slow: 11 waiting, 12 delayed',
    'queue mail: 13 waiting, 14 delayed',
  ]);
});
