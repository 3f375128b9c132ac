import { expect, test } from '@jest/globals';
import { EVENT_TYPES, LIMITS } from '@postrider/domain';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { createEventCountStore } from './event-counts.ts';
import type { EventCountRequest } from './event-counts.ts';
import { countEvents } from './sql/count-events.ts';

const store = setupStore();

const ALL: EventCountRequest = {
  types: ['email.sent', 'email.delivered'],
  since: new Date('2026-03-01'),
  until: new Date('2026-03-05'),
  period: 'day',
  timeZone: 'UTC',
  byDomain: true,
  byEmail: true,
  domainIds: null,
  emailIds: null,
};

test('a count reads no more events than it may count, however many types have as many', async () => {
  const accountId = await store.newAccount();
  const types = EVENT_TYPES.slice(0, 4);
  await store.outside.query(
    `insert into events (id, account_id, type, created_at, data)
     select 'many_' || type || n, $1, type, '2026-03-02Z', '{"email_id":"em_' || lpad(n::text, 26, '0') || '"}'
     from generate_series(1, 20000) n, unnest($2::text[]) type`,
    [accountId, types],
  );
  const seen: ExplainedStatement[] = [];
  const counts = createEventCountStore({ ...store.db, pool: explainedPool(store.db.pool, seen) });
  expect(await counts.count(accountId, { ...ALL, types })).toEqual({ kind: 'too-many' });
  const count = seen.find(({ text }) => text === countEvents.text);
  expect(count?.rowsMax).toBe(LIMITS.metricEvents + 1);
});

test('counts for one message more than an answer may show, and all messages in the total', async () => {
  const accountId = await store.newAccount();
  const messages = LIMITS.metricEntries + 100;
  await store.outside.query(
    `insert into events (id, account_id, type, created_at, data)
     select type || n, $1, type, '2026-03-02Z', '{"email_id":"em_' || lpad(n::text, 26, '0') || '"}'
     from generate_series(1, $2::int) n, unnest('{email.sent,email.delivered}'::text[]) type`,
    [accountId, messages],
  );
  const counted = await createEventCountStore(store.db).count(accountId, ALL);
  if (counted.kind !== 'counted') throw new Error(counted.kind);
  const { counts } = counted;
  expect(counts.filter(({ isTotal }) => isTotal).map(({ events }) => events)).toEqual([messages, messages]);
  const shown = counts.filter(({ isTotal }) => !isTotal);
  expect(shown).toHaveLength(2 * (LIMITS.metricEntries + 1));
  expect(new Set(shown.map(({ emailId }) => emailId)).size).toBe(LIMITS.metricEntries + 1);
});
