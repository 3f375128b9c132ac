import { expect, test } from '@jest/globals';
import type { Recovery } from '@postrider/store';
import { progressInWords } from './recovery-object.ts';

test('a recovery whose count was cut at 500,000 events may queue more than it counted', () => {
  const counts = { matched: 500_000, hasMore: true, queued: 620_000, delivered: 1, failed: 2, inProgress: 3 };
  expect(progressInWords(counts as Recovery)).toBe(
    '620000 of 500000+ queued: 1 delivered, 2 failed, 3 in progress',
  );
  expect(progressInWords({ ...counts, hasMore: false, matched: 620_000 } as Recovery)).toMatch(
    /^620000 of 620000 /,
  );
});
