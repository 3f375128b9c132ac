import { expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { resultInWords, resultObject } from './account-erase.ts';

test('each number of an erasure has its own name', () => {
  const result = {
    accountId: 'acct_1' as AccountId,
    requestedAt: new Date('2026-03-01T12:00:00Z'),
    erased: { emails: 1, messages: 2, events: 3, attempts: 4, deadLetters: 5 },
    pending: { emails: 6, messages: 7, events: 8, deadLetters: 9, sesMail: 10 },
    pendingIds: ['evt_1', 'em_1'],
  };
  expect(resultObject('bob@b.example', result)).toEqual({
    account: 'acct_1',
    address: 'bob@b.example',
    requested_at: '2026-03-01T12:00:00.000Z',
    erased: { emails: 1, messages: 2, events: 3, attempts: 4, dead_letters: 5 },
    pending: { emails: 6, messages: 7, events: 8, dead_letters: 9, ses_mail: 10 },
    pending_ids: ['evt_1', 'em_1'],
  });
  expect(resultInWords('bob@b.example', result).slice(0, 3)).toEqual([
    'bob@b.example: erased 1 emails, 2 received messages, 3 events, 4 attempts, 5 dead letters',
    'pending: 6 emails to be sent, 7 messages in use, 8 events to be delivered, 9 dead letters being replayed, 10 messages of SES to be read',
    'among them: evt_1, em_1',
  ]);
});
