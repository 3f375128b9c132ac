import { expect, test } from '@jest/globals';
import type { NewRecovery, Recovery, RecoveryCount } from '@postrider/store';
import { dryRunInWords, progressInWords } from './recovery-object.ts';

test('a recovery whose count was cut at 500,000 events may queue more than it counted', () => {
  const counts = { matched: 500_000, hasMore: true, queued: 620_000, delivered: 1, failed: 2, inProgress: 3 };
  expect(progressInWords(counts as Recovery)).toBe(
    '620000 of 500000+ queued: 1 delivered, 2 failed, 3 in progress',
  );
  expect(progressInWords({ ...counts, hasMore: false, matched: 620_000 } as Recovery)).toMatch(
    /^620000 of 620000 /,
  );
});

test('a dry run whose count was cut at 500,000 events says that more match', () => {
  const counts = { matched: 500_000, hasMore: true, deadLetters: 7, unknown: 0, oldest: null, newest: null };
  const lines = (hasMore: boolean) =>
    dryRunInWords({ rate: 200 } as NewRecovery, { ...counts, hasMore } as RecoveryCount);
  const time = 'at 200 a second it takes 2500 s or longer';
  expect(lines(true)).toEqual(['more than 500000 events match; 7 have a dead letter', time]);
  expect(lines(false)).toEqual(['500000 events match; 7 have a dead letter', time]);
});
