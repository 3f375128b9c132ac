import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { untilWaitingForLock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { unsubscribe } from './sql/suppressions.ts';
import { createSuppressionStore } from './suppressions.ts';
import type { SuppressionStore } from './suppressions.ts';
import { createTopicStore } from './topics.ts';
import type { TopicStore } from './topics.ts';
import { createUnsubscribeStore } from './unsubscribes.ts';
import type { UnsubscribeStore } from './unsubscribes.ts';

const NEWS = { name: 'News', description: null, defaultSubscription: 'opt_in' } as const;
const ADDRESS = 'bob@b.example';

const store = setupStore();
let topics: TopicStore;
let unsubscribes: UnsubscribeStore;
let suppressions: SuppressionStore;
let accountId: AccountId;

beforeAll(async () => {
  topics = createTopicStore(store.db, store.clock);
  unsubscribes = createUnsubscribeStore(store.db, store.clock);
  suppressions = createSuppressionStore(store.db, store.clock);
});
beforeEach(async () => void (accountId = await store.newAccount()));

function rowsOf(id: string) {
  return store.outside.query('select 1 from suppressions where topic_id = $1', [id]);
}

test('a topic is found and listed only by its own account', async () => {
  const id = await topics.create(accountId, { ...NEWS, description: 'Every Friday ☃' });
  const topic = { ...NEWS, id, description: 'Every Friday ☃', createdAt: store.clock.now() };
  expect(await topics.find(accountId, id)).toEqual(topic);
  expect(await topics.list(accountId, { limit: 1, cursor: null })).toEqual({
    entries: [topic],
    hasMore: false,
  });
  const stranger = await store.newAccount();
  expect(await topics.find(stranger, id)).toBeNull();
  expect(await topics.list(stranger, { limit: 1, cursor: null })).toEqual({ entries: [], hasMore: false });
  expect(await topics.list(stranger, { limit: 1, cursor: { side: 'after', id } })).toBeNull();
  expect(await topics.delete(stranger, id)).toBe(false);
  expect(await topics.find(accountId, id)).toEqual(topic);
});

describe('deleting a topic', () => {
  test('deletes its suppressions, and no others', async () => {
    const [gone, kept] = [await topics.create(accountId, NEWS), await topics.create(accountId, NEWS)];
    for (const topicId of [gone, kept]) {
      await unsubscribes.unsubscribe({ accountId, topicId, address: ADDRESS }, 'page');
    }
    await suppressions.add(accountId, [ADDRESS]);
    expect(await topics.delete(accountId, gone)).toBe(true);
    expect(await topics.delete(accountId, gone)).toBe(false);
    expect([await rowsOf(gone), await rowsOf(kept), await rowsOf('')]).toMatchObject([[], [{}], [{}]]);
  });

  test('leaves no suppression of a concurrent unsubscribe', async () => {
    const id = await topics.create(accountId, NEWS);
    const deleting = await inUndoneTransaction(store.db.pool, async (session) => {
      const event = [['evt_1'], accountId, 'email.unsubscribed', ['{}'], null, ['[]']];
      await session.query(unsubscribe.text, [...event, ADDRESS, 'sup_1', id]);
      const deleted = topics.delete(accountId, id);
      await untilWaitingForLock(store.outside);
      await session.query('commit');
      return { deleted };
    });
    expect(await deleting.deleted).toBe(true);
    expect(await rowsOf(id)).toEqual([]);
  });
});
