import { expect, test } from '@jest/globals';
import { setupStore } from '../../test/open-store.ts';
import { createInboxStore } from './inboxes.ts';

const store = setupStore();

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
