import { expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import type { AttemptSums } from '@postrider/store';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { erasuresPass, sumsPass } from './housekeeping.ts';

/** Each step takes 20 ms. */
function steps(...results: Awaited<ReturnType<AttemptSums['step']>>[]) {
  let now = 0;
  const sums: AttemptSums = {
    async step() {
      now += 20;
      return results.shift() ?? 'current';
    },
  };
  return async () => sumsPass(sums, () => now);
}

test('the pass goes on soon while there is more to add up, at a tenth of the time, then looks every 5 s', async () => {
  const run = steps('summed', 'summed');
  expect([await run(), await run(), await run()]).toEqual([180, 180, 5_000]);
});

test.each([
  ['a day', 'info', '2026-01-01T12:00:00.000Z'],
  ['more than a day', 'warn', '2026-01-01T11:59:59.999Z'],
])('an erasure that waits for %s is logged as %s', async (_, level, requestedAt) => {
  const lines: LoggedLine[] = [];
  const resume = async () => ({
    accountId: 'acct_1' as AccountId,
    requestedAt: new Date(requestedAt),
    erased: { emails: 0, messages: 0, events: 0, attempts: 0, deadLetters: 0 },
    pending: { emails: 0, messages: 0, events: 1, deadLetters: 0, sesMail: 0 },
    pendingIds: ['evt_1'],
    finished: false,
  });
  await erasuresPass({ resume }, keepingLogger(lines), { now: () => new Date('2026-01-02T12:00:00Z') });
  expect(lines).toMatchObject([{ level, msg: 'erasure waits' }]);
});
