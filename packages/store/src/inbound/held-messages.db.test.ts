import { beforeEach, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { countHeldMessages, countHeldOf, HELD_OF_ACCOUNT_COUNTED_MAX } from './held-messages.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
beforeEach(() => rows().clear());

test('the held messages of an account, and of all, are counted, live and test, without those of a deleted inbox', async () => {
  const [accountId, other] = [await rows().account(), await rows().account()];
  for (const kind of ['live', 'live', 'test'] as const) await rows().message({ accountId, kind, held: true });
  await rows().message({ accountId });
  await rows().message({ accountId, held: true, inboxId: 'in_deleted' });
  await rows().message({ accountId: other, held: true });
  await store.outside.query(`insert into removed_inboxes values ('in_deleted')`);
  expect([await countHeldOf(store.db, accountId), await countHeldOf(store.db, other)]).toEqual([3, 1]);
  expect(await countHeldOf(store.db, await rows().account())).toBe(0);
  expect((await countHeldMessages(store.db)).map(({ messages }) => messages)).toEqual([4]);
});

test('they are counted up to a maximum', async () => {
  const accountId = await rows().account();
  const message = await rows().message({ accountId, held: true });
  await store.outside.query(
    `insert into messages
     select (jsonb_populate_record(m, jsonb_build_object('id', 'msg_' || n))).*
     from messages m, generate_series(1, $2::int) n where m.id = $1`,
    [message, HELD_OF_ACCOUNT_COUNTED_MAX + 5],
  );
  expect(await countHeldOf(store.db, accountId)).toBe(HELD_OF_ACCOUNT_COUNTED_MAX);
});

test('the newest 10,000 are looked at, also when they are of a deleted inbox', async () => {
  const accountId = await rows().account();
  const message = await rows().message({ accountId, held: true });
  await store.outside.query(`insert into removed_inboxes values ('in_deleted')`);
  const add = (from: number, to: number, changes: object) =>
    store.outside.query(
      `insert into messages
       select (jsonb_populate_record(m, $2 || jsonb_build_object(
         'id', 'msg_' || n, 'created_at', m.created_at + n * interval '1 s'))).*
       from messages m, generate_series($3::int, $4::int) n where m.id = $1`,
      [message, JSON.stringify(changes), from, to],
    );
  await add(1, 9_998, { inbox_id: 'in_deleted' });
  expect(await countHeldMessages(store.db)).toMatchObject([{ messages: 1, isCut: false }]);
  await add(9_999, 10_000, {});
  expect(await countHeldMessages(store.db)).toMatchObject([{ messages: 2, isCut: true }]);
  expect(await countHeldOf(store.db, accountId)).toBe(2);
});
