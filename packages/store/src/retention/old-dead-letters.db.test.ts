import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createDeadLetterStore } from '../deliveries/dead-letters.ts';
import { dropOldDeadLetters, dropSurplusDeadLetters } from './old-dead-letters.ts';

const store = setupStore();
let rows: Rows;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(() => rows.clear());

/** @param ages in days, one dead letter each. Their ids end in the place in the list. */
async function letters(webhookId: WebhookId, ages: readonly number[]): Promise<void> {
  await store.outside.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                               last_error, created_at)
     select 'dl_' || w.id || '_' || a.place, w.account_id, w.id, 'evt_1', 'email.sent', now(), '{}', 8,
            'attempts_exhausted', 'HTTP 503', now() - a.age * interval '1 day'
     from webhooks w, unnest($2::float8[]) with ordinality a (age, place) where w.id = $1`,
    [webhookId, ages],
  );
}

/** The places of those left, in the list that the webhook's were made from. */
async function left(webhookId: WebhookId): Promise<number[]> {
  const found = await store.outside.query<{ place: number }>(
    `select split_part(id, '_', 4)::int as place from dead_letters where webhook_id = $1 order by 1`,
    [webhookId],
  );
  return found.map(({ place }) => place);
}

/** The deleted dead letters that the webhook shows. */
async function droppedOf(webhookId: WebhookId): Promise<number | undefined> {
  const [row] = await store.outside.query<{ dropped: number }>(
    'select dead_letters_dropped as dropped from webhooks where id = $1',
    [webhookId],
  );
  return row?.dropped;
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

test('dead letters go past their days, in as many batches as it takes, and not before', async () => {
  const webhookId = await rows.webhook();
  await letters(webhookId, [...range(2_500).map((n) => 90 + n / 100), 89.9]);
  expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(2_500);
  expect(await left(webhookId)).toEqual([2_501]);
  expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(0);
});

test('of a webhook with more than the limit the oldest go, and of all others none', async () => {
  const [full, over, far] = [await rows.webhook(), await rows.webhook(), await rows.webhook()];
  const others: WebhookId[] = [];
  for (let n = 0; n < 25; n += 1) others.push(await rows.webhook());
  await letters(full, [1, 2, 3]);
  await letters(over, [5, 1, 4, 2, 3]);
  await letters(far, range(2_503));
  for (const webhookId of others) await letters(webhookId, [1]);
  const dropped = await dropSurplusDeadLetters(store.db.pool, 3);
  expect(new Map(dropped.map(({ webhookId, letters: count }) => [webhookId, count]))).toEqual(
    new Map([
      [over, 2],
      [far, 2_500],
    ]),
  );
  expect(await left(full)).toEqual([1, 2, 3]);
  expect(await left(over)).toEqual([2, 4, 5]);
  expect(await left(far)).toEqual([1, 2, 3]);
  expect(await dropSurplusDeadLetters(store.db.pool, 3)).toEqual([]);
});

test('of dead letters of one moment no more go than are over the limit', async () => {
  const webhookId = await rows.webhook();
  await letters(webhookId, [1, 1, 1, 1, 1]);
  expect(await dropSurplusDeadLetters(store.db.pool, 2)).toEqual([{ webhookId, letters: 3 }]);
  expect(await left(webhookId)).toHaveLength(2);
});

test('an open replay keeps its dead letter from being dropped, and commits', async () => {
  const accountId = await rows.account();
  const webhookId = await rows.webhook({ accountId });
  const letter = await rows.deadLetter(webhookId, await rows.event({ accountId }));
  await store.outside.query(`update dead_letters set created_at = now() - interval '91 days'`);
  await inUndoneTransaction(store.db.pool, async (replay) => {
    await replay.query('select from dead_letters where id = $1 for update', [letter]);
    expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(0);
  });
  expect(await createDeadLetterStore(store.db).replay(accountId, letter, ACTOR)).toBe(true);
  expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(0);
});

describe('a webhook counts', () => {
  test('what is deleted of it by age and by number, and nothing else', async () => {
    const [aged, over, other] = [await rows.webhook(), await rows.webhook(), await rows.webhook()];
    await letters(aged, [91, 92, 1]);
    await letters(over, [95, 4, 3, 2, 1]);
    await letters(other, [1]);
    await dropOldDeadLetters(store.db.pool, 90);
    expect(await Promise.all([aged, over, other].map(droppedOf))).toEqual([2, 1, 0]);
    await dropSurplusDeadLetters(store.db.pool, 3);
    expect(await Promise.all([aged, over, other].map(droppedOf))).toEqual([2, 2, 0]);
  });

  test('every step of a large deletion', async () => {
    const webhookId = await rows.webhook();
    await letters(webhookId, range(2_503));
    await dropSurplusDeadLetters(store.db.pool, 3);
    expect(await droppedOf(webhookId)).toBe(2_500);
  });

  test('no dead letter that a replay holds', async () => {
    const webhookId = await rows.webhook();
    await letters(webhookId, [91, 92]);
    await inUndoneTransaction(store.db.pool, async (replay) => {
      await replay.query('select from dead_letters where id = $1 for update', [`dl_${webhookId}_1`]);
      expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(1);
    });
    expect(await droppedOf(webhookId)).toBe(1);
  });

  test('up to the largest number', async () => {
    const webhookId = await rows.webhook();
    await store.outside.query('update webhooks set dead_letters_dropped = 2147483646');
    await letters(webhookId, [91, 92]);
    expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(2);
    expect(await droppedOf(webhookId)).toBe(2_147_483_647);
  });
});

test('dead letters of a webhook that is gone go, too', async () => {
  const webhookId = await rows.webhook();
  await letters(webhookId, [91]);
  await store.outside.query('delete from webhooks');
  expect(await dropOldDeadLetters(store.db.pool, 90)).toBe(1);
});

test.each([
  ['age', () => dropOldDeadLetters(store.db.pool, 90)],
  ['number', () => dropSurplusDeadLetters(store.db.pool, 0)],
])('a deletion by %s waits for a DELETE of the webhook, which takes the dead letters', async (_, drop) => {
  const webhookId = await rows.webhook();
  await letters(webhookId, [91]);
  const dropped = await inUndoneTransaction(store.db.pool, async (removal) => {
    await removal.query('delete from webhooks where id = $1', [webhookId]);
    const waiting = drop();
    waiting.catch(() => undefined);
    await untilWaitingForLock(store.outside);
    await removal.query('delete from dead_letters where webhook_id = $1', [webhookId]);
    await removal.query('commit');
    return waiting;
  });
  expect([0, [{ webhookId, letters: 0 }]]).toContainEqual(dropped);
});
