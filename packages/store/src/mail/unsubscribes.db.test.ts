import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, TopicId, UnsubscribeTarget } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { watchedPool } from '../../test/watched-pool.ts';
import { createSuppressionStore } from './suppressions.ts';
import { createTopicStore } from './topics.ts';
import { createUnsubscribeStore } from './unsubscribes.ts';
import type { UnsubscribeStore } from './unsubscribes.ts';

const store = setupStore();
let unsubscribes: UnsubscribeStore;
let accountId: AccountId;
let topicId: TopicId;
let target: UnsubscribeTarget;

beforeAll(async () => {
  unsubscribes = createUnsubscribeStore(store.db, store.clock);
});
beforeEach(async () => {
  accountId = await store.newAccount();
  const topic = { name: 'News', description: null, defaultSubscription: 'opt_out' } as const;
  topicId = await createTopicStore(store.db, store.clock).create(accountId, topic);
  target = { accountId, topicId, address: 'bob@b.example' };
});

function events() {
  return store.outside.query<{ type: string; data: string }>(
    'select type, data from events where account_id = $1',
    [accountId],
  );
}

function rows() {
  return store.outside.query(
    'select address, topic_id, origin, email_id, created_at from suppressions where account_id = $1',
    [accountId],
  );
}

test('the suppression and its one event exist together, also after repetitions from any source', async () => {
  const webhookId = await createRows(store.outside).webhook({ accountId });
  await Promise.all(Array.from({ length: 8 }, async () => unsubscribes.unsubscribe(target, 'one_click')));
  await unsubscribes.unsubscribe(target, 'page');
  const at = store.clock.now();
  expect(await rows()).toEqual([
    {
      address: target.address,
      topic_id: topicId,
      origin: 'unsubscribe',
      email_id: null,
      created_at: expect.any(Date),
    },
  ]);
  const [event, ...more] = await events();
  expect(more).toEqual([]);
  expect({ ...event, data: JSON.parse(event?.data ?? '') as unknown }).toEqual({
    type: 'email.unsubscribed',
    data: {
      email_id: null,
      to: target.address,
      topic: topicId,
      scope: 'topic',
      source: 'one_click',
      occurred_at: at.toISOString(),
    },
  });
  expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhookId], mail: false });
});

test('is one statement', async () => {
  const { pool, sent } = watchedPool(store.db.pool);
  await createUnsubscribeStore({ ...store.db, pool }, store.clock).unsubscribe(target, 'page');
  expect(sent).toEqual(['unsubscribe']);
  expect([(await rows()).length, (await events()).length]).toEqual([1, 1]);
});

test('a repetition locks nothing, so it does not wait for the disk', async () => {
  await unsubscribes.unsubscribe(target, 'page');
  const version = async () =>
    store.outside.query('select xmin, xmax from topics where id = $1', [target.topicId]);
  const before = await version();
  await unsubscribes.unsubscribe(target, 'page');
  expect(await version()).toEqual(before);
});

test('the suppression rolls back when its event cannot be written', async () => {
  await store.outside.query('alter table events rename to away');
  try {
    await expect(unsubscribes.unsubscribe(target, 'page')).rejects.toThrow();
  } finally {
    await store.outside.query('alter table away rename to events');
  }
  expect(await rows()).toEqual([]);
});

test('an address suppressed for all mail can still unsubscribe from a topic', async () => {
  await createSuppressionStore(store.db, store.clock).add(accountId, [target.address]);
  await unsubscribes.unsubscribe(target, 'page');
  expect(await rows()).toHaveLength(2);
});

test('for a deleted topic, or another account’s, nothing is written and nothing fails', async () => {
  await unsubscribes.unsubscribe({ ...target, topicId: newId('topic', store.clock) }, 'page');
  await unsubscribes.unsubscribe({ ...target, accountId: await store.newAccount() }, 'page');
  expect([await rows(), await events()]).toEqual([[], []]);
});
