import { beforeEach, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import type { ListPosition } from '../db/page.ts';
import {
  countHeldMessages,
  countHeldOf,
  findHeldMessages,
  HELD_COUNTED_MAX,
  HELD_OF_ACCOUNT_COUNTED_MAX,
} from './held-messages.ts';
import type { FoundHeldMessages } from './held-messages.ts';

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
  expect((await countHeldMessages(store.db)).byReason.map(({ messages }) => messages)).toEqual([4]);
});

test('the held messages of an account are listed, live and test, the newest first, and with a reason', async () => {
  const [accountId, other] = [await rows().account(), await rows().account()];
  const ids: string[] = [];
  for (const kind of ['live', 'test', 'live', 'test'] as const) {
    const id = await rows().message({ accountId, kind, held: true });
    const at = `2026-01-01T00:00:0${ids.unshift(id)}Z`;
    await store.outside.query('update messages set created_at = $2 where id = $1', [id, at]);
  }
  await rows().message({ accountId });
  await rows().message({ accountId, held: true, inboxId: 'in_deleted' });
  await rows().message({ accountId: other, held: true });
  await store.outside.query(`insert into removed_inboxes values ('in_deleted')`);
  await store.outside.query(`update messages set held_reason = 'virus' where id = any ($1)`, [
    ids.slice(1, 3),
  ]);
  const found = async (filter: object, limit = 9) => {
    const pages = [];
    for (let after: ListPosition | null = null; ;) {
      const { messages, olderFrom }: FoundHeldMessages = await findHeldMessages(store.db, filter, {
        after,
        limit,
      });
      pages.push(messages.map(({ id }) => id));
      if (olderFrom === null) return pages;
      after = olderFrom;
    }
  };
  expect(await found({ accountId })).toEqual([ids]);
  expect(await found({ accountId }, 2)).toEqual([ids.slice(0, 2), ids.slice(2)]);
  expect(await found({ accountId, reason: 'virus' }, 1)).toEqual([[ids[1]], [ids[2]]]);
  expect((await found({})).flat()).toHaveLength(5);
  expect(await found({ accountId: await rows().account() })).toEqual([[]]);
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
  expect(await countHeldMessages(store.db)).toMatchObject({ byReason: [{ messages: 1 }], isCut: false });
  await add(9_999, 9_999, {});
  expect(await countHeldMessages(store.db)).toMatchObject({ byReason: [{ messages: 2 }], isCut: false });
  await add(10_000, 10_000, {});
  expect(await countHeldMessages(store.db)).toMatchObject({ byReason: [{ messages: 2 }], isCut: true });
  expect(await countHeldOf(store.db, accountId)).toBe(2);
  await store.outside.query(`update messages set inbox_id = 'in_deleted' where id <> $1`, [message]);
  expect(await countHeldMessages(store.db)).toEqual({ byReason: [], isCut: true });
});

test('a search in an account looks at the newest 10,000 of live and test mail together', async () => {
  const accountId = await rows().account();
  for (const kind of ['live', 'test'] as const) {
    const message = await rows().message({ accountId, kind, held: true });
    await store.outside.query(
      `insert into messages
       select (jsonb_populate_record(m, jsonb_build_object(
         'id', $2 || lpad(n::text, 6, '0'), 'held_reason', case when n = $3 then 'virus' else 'spam' end,
         'created_at', m.created_at + n * interval '1 s'))).*
       from messages m, generate_series(1, $4::int) n where m.id = $1`,
      [message, `msg_${kind}`, HELD_COUNTED_MAX / 2 - 10, HELD_COUNTED_MAX],
    );
  }
  const filter = { accountId, reason: 'virus' } as const;
  const newest = await findHeldMessages(store.db, filter, { after: null, limit: 9 });
  expect(newest.messages).toEqual([]);
  const older = await findHeldMessages(store.db, filter, { after: newest.olderFrom, limit: 9 });
  expect(older.messages.map(({ id }) => id)).toEqual(['msg_test004990', 'msg_live004990']);
});
