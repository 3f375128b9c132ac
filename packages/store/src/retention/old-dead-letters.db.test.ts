import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
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
