import { expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import { setupStore } from '../../test/open-store.ts';
import { createEventCountStore } from './event-counts.ts';

const store = setupStore();

test('counts for one message more than an answer may show, and all messages in the total', async () => {
  const accountId = await store.newAccount();
  const messages = LIMITS.metricEntries + 100;
  await store.outside.query(
    `insert into events (id, account_id, type, created_at, data)
     select type || n, $1, type, '2026-03-02Z', '{"email_id":"em_' || lpad(n::text, 26, '0') || '"}'
     from generate_series(1, $2::int) n, unnest('{email.sent,email.delivered}'::text[]) type`,
    [accountId, messages],
  );
  const counted = await createEventCountStore(store.db).count(accountId, {
    types: ['email.sent', 'email.delivered'],
    since: new Date('2026-03-01'),
    until: new Date('2026-03-05'),
    period: 'day',
    timeZone: 'UTC',
    byDomain: true,
    byEmail: true,
    domainIds: null,
    emailIds: null,
  });
  if (counted.kind !== 'counted') throw new Error(counted.kind);
  const { counts } = counted;
  expect(counts.filter(({ isTotal }) => isTotal).map(({ events }) => events)).toEqual([messages, messages]);
  const shown = counts.filter(({ isTotal }) => !isTotal);
  expect(shown).toHaveLength(2 * (LIMITS.metricEntries + 1));
  expect(new Set(shown.map(({ emailId }) => emailId)).size).toBe(LIMITS.metricEntries + 1);
});
