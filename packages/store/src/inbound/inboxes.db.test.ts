import { beforeEach, expect, test } from '@jest/globals';
import type { InboxId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import { hookedPool } from '../../test/hooked-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createInboxStore, postmasterInbox, setPostmaster } from './inboxes.ts';

const store = setupStore();
beforeEach(() => createRows(store.outside).clear());

test('the limit is exact for concurrent requests, and is checked before the address', async () => {
  const inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: ['in.example'],
    reservedNames: [],
    perAccountMax: 3,
  });
  const accountId = await store.newAccount();
  const make = (local: string, kind: 'live' | 'test' = 'live') =>
    inboxes.create({ accountId, kind, address: `${local}@in.example`, name: local, fromName: null });
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, n) => make(`a${n}`, n % 2 === 0 ? 'live' : 'test')),
  );
  const kinds = outcomes.map(({ kind }) => kind).sort();
  expect(kinds).toEqual([
    ...Array.from({ length: 3 }, () => 'created'),
    ...Array.from({ length: 5 }, () => 'limit-reached'),
  ]);
  for (let n = 0; n < 8; n += 1) expect(await make(`a${n}`)).toEqual({ kind: 'limit-reached' });
  const foreign = {
    accountId,
    kind: 'live',
    address: 'a@nobody.example',
    name: 'a',
    fromName: null,
  } as const;
  expect(await inboxes.create(foreign)).toEqual({ kind: 'foreign-domain' }); // a fault comes before the limit
});

const [FIRST, LAST] = ['ibx_1', 'ibx_2'] as InboxId[] as [InboxId, InboxId];

async function addInboxes(postmaster: InboxId | null): Promise<void> {
  for (const id of [LAST, FIRST]) {
    await createRows(store.outside).inbox({ id, isPostmaster: id === postmaster });
  }
}

test.each([
  [FIRST, LAST],
  [LAST, FIRST],
])('the postmaster %s is replaced by %s under locks in the order of the ids', async (former, next) => {
  await addInboxes(former);
  const { replaced } = await inUndoneTransaction(store.db.pool, async (session) => {
    const lock = async (id: InboxId) =>
      session.query('select from inboxes where id = $1 for no key update', [id]);
    await lock(FIRST);
    const started = setPostmaster(store.db, next, ACTOR);
    await untilWaitingForLock(store.outside);
    await lock(LAST); // each would wait for the other, if the command held it
    await session.query('commit');
    return { replaced: started };
  });
  expect(await replaced).not.toBeNull();
  expect(await postmasterInbox(store.db)).toBe(next);
});

test('of two inboxes that are named postmaster at once, the later one is it', async () => {
  await addInboxes(null);
  const later: Promise<unknown>[] = [];
  const pool = hookedPool(store.db.pool, [
    /^commit/,
    async () => {
      later.push(setPostmaster(store.db, LAST, ACTOR));
      await untilWaitingForLock(store.outside);
    },
  ]);
  expect(await setPostmaster({ ...store.db, pool }, FIRST, ACTOR)).not.toBeNull();
  expect(await Promise.all(later)).toEqual([`${LAST}@a.example`]);
  expect(await postmasterInbox(store.db)).toBe(LAST);
  expect(await store.outside.query('select before, after from audit order by id')).toEqual([
    { before: { value: null }, after: { value: FIRST } },
    { before: { value: FIRST }, after: { value: LAST } },
  ]);
});
