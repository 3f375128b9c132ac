import { expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { fakeClock, streamInto } from '@postrider/testing';
import { printCounts } from './replay-dead-letters.ts';

/* A count ends after 500,000 events. Then its number is not exact. */

test.each([true, false])('a dry run of a replay says that a count was cut: %j', (hasMore) => {
  const ids = { webhook: 'wh_1' as WebhookId, account: 'acct_1' as AccountId };
  const texts: string[] = [];
  const stdout = streamInto(texts);
  const io = { env: {}, dataDir: '', clock: fakeClock(), stdout, stderr: stdout };
  const counts = [{ ...ids, matched: 500_000, has_more: hasMore }, { ...ids, matched: 1, has_more: false }]; // oxfmt-ignore
  printCounts({ io, json: undefined }, counts, []);
  printCounts({ io, json: true }, counts, []);
  const [lead, , first, last, document = ''] = texts;
  expect(lead).toBe(`${hasMore ? 'more than ' : ''}500001 dead letters match; nothing is sent\n`);
  expect([first, last]).toEqual([`wh_1     acct_1   500000${hasMore ? '+' : ''}\n`, 'wh_1     acct_1   1\n']);
  expect(JSON.parse(document)).toMatchObject({ matched: 500_001, has_more: hasMore, webhooks: counts });
});
