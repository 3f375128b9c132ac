import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, TopicId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createProviderNotificationStore } from './provider-notifications.ts';
import type { ProviderReport } from './provider-notifications.ts';
import { createSuppressionStore } from './suppressions.ts';
import type { SuppressionStore } from './suppressions.ts';
import { createTopicStore } from './topics.ts';

/**
 * Sorted by bytes (EF BD 9E, F0 9F 98 80). By UTF-16 code units the order is the opposite (FF5E, D83D DE00).
 */
const FIRST = '\uff5e@b.example';
const LAST = '\u{1f600}@b.example';
const MANY = Array.from({ length: 30 }, (_, n) => `n${n + 10}@b.example`);
const NEWS = { name: 'News', description: null, defaultSubscription: 'opt_in' } as const;

const store = setupStore();
let suppressions: SuppressionStore;
let accountId: AccountId;
let emailId: EmailId;
let topicId: TopicId;

beforeAll(async () => {
  suppressions = createSuppressionStore(store.db, store.clock);
});
beforeEach(async () => {
  emailId = await createRows(store.outside).email();
  const [owner] = await store.outside.query<{ account_id: AccountId }>(
    'select account_id from emails where id = $1',
    [emailId],
  );
  accountId = owner?.account_id as AccountId;
  topicId = await createTopicStore(store.db, store.clock).create(accountId, NEWS);
});

/** The ids and the positions in the table are in the opposite order of the addresses. */
async function suppressed(addresses: readonly string[], about: string): Promise<void> {
  for (const [index, address] of addresses.toReversed().entries()) {
    await store.outside.query(
      `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
       values ($1 || gen_random_uuid(), $2, $3, $4, 'manual', now()) on conflict do nothing`,
      [`sup_${index + 10}_`, accountId, address, about],
    );
  }
}

function reported(): Promise<string> {
  const report: ProviderReport = {
    notificationId: 'n-1',
    emailId,
    providerMessageId: null,
    writtenEmailId: null,
    suppress: [LAST, FIRST].map((address) => ({ address, reason: 'complaint' })),
    event: {
      type: 'email.complained',
      recipients: [LAST, FIRST],
      occurredAt: '2026-03-01T11:59:59.000Z',
      detail: notificationDetailOf({}),
    },
  };
  return createProviderNotificationStore(store.db, store.clock).record(report);
}

const statements: readonly [string, () => Promise<unknown>][] = [
  ['an addition', () => suppressions.add(accountId, [LAST, FIRST])],
  ['a removal', () => suppressions.remove(accountId, [{ address: LAST }, { address: FIRST }], 'r', ACTOR)],
  ['a report of the provider', reported],
  ['the deletion of a topic', () => createTopicStore(store.db, store.clock).delete(accountId, topicId)],
];

test.each(statements)('%s locks the addresses in the order of their bytes', async (_, work) => {
  for (const about of ['', topicId]) await suppressed([FIRST, LAST], about);
  const { working } = await inUndoneTransaction(store.db.pool, async (session) => {
    const lock = async (address: string) =>
      session.query('select from suppressions where account_id = $1 and address = $2 for update', [
        accountId,
        address,
      ]);
    await lock(FIRST);
    const started = work();
    await untilWaitingForLock(store.outside);
    await lock(LAST); // each would wait for the other, if the work held it
    await session.query('commit');
    return { working: started };
  });
  await working;
});

test('concurrent additions and removals of the same addresses all succeed', async () => {
  for (let round = 0; round < 8; round += 1) {
    await suppressed(MANY, '');
    const works = Array.from({ length: 10 }, async (_, n) => {
      if (n % 2 === 0) return suppressions.add(accountId, n % 4 === 0 ? MANY : MANY.toReversed());
      return suppressions.remove(
        accountId,
        MANY.map((address) => ({ address })),
        null,
        ACTOR,
      );
    });
    const outcomes = await Promise.allSettled(works);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  }
});
