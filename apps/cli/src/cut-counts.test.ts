import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import type { Recovery } from '@postrider/store';
import { fakeClock } from '@postrider/testing';
import { progressInWords } from './recovery-object.ts';
import { printCounts } from './replay-dead-letters.ts';

/* A count ends after 500,000 events. Then its number is not exact. */

test('a recovery with a cut count shows more queued than counted', () => {
  const counts = { matched: 500_000, hasMore: true, queued: 620_000, delivered: 1, failed: 2, inProgress: 3 };
  expect(progressInWords(counts as Recovery)).toBe(
    '620000 of 500000+ queued: 1 delivered, 2 failed, 3 in progress',
  );
  expect(progressInWords({ ...counts, hasMore: false, matched: 620_000 } as Recovery)).toMatch(
    /^620000 of 620000 /,
  );
});

test.each([true, false])('a dry run of a replay says that a count was cut: %j', (hasMore) => {
  const [ids, texts] = [{ webhook: 'wh_1' as WebhookId, account: 'acct_1' as AccountId }, [] as string[]];
  const stdout = new Writable({ write: (chunk, _encoding, done) => done(void texts.push(String(chunk))) });
  const io = { env: {}, dataDir: '', clock: fakeClock(), stdout, stderr: stdout };
  const counts = [{ ...ids, matched: 500_000, has_more: hasMore }, { ...ids, matched: 1, has_more: false }]; // oxfmt-ignore
  printCounts({ io, json: undefined }, counts, []);
  printCounts({ io, json: true }, counts, []);
  const [lead, , first, last, document = ''] = texts;
  expect(lead).toBe(`${hasMore ? 'more than ' : ''}500001 dead letters match; nothing is sent\n`);
  expect([first, last]).toEqual([`wh_1     acct_1   500000${hasMore ? '+' : ''}\n`, 'wh_1     acct_1   1\n']);
  expect(JSON.parse(document)).toMatchObject({ matched: 500_001, has_more: hasMore, webhooks: counts });
});
