import { expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { setupStore } from '../../test/open-store.ts';
import { createAccountStore } from './accounts.ts';

const store = setupStore();

test('find returns the created account', async () => {
  const accounts = createAccountStore(store.db, store.clock);
  const account = await accounts.create('Ada & Söhne');
  expect(account).toEqual({
    id: expect.stringMatching(/^acct_/),
    name: 'Ada & Söhne',
    createdAt: store.clock.now(),
  });
  expect(await accounts.find(account.id)).toEqual(account);
});

test('find returns null for a missing account', async () => {
  const accounts = createAccountStore(store.db, store.clock);
  expect(await accounts.find(newId('account', store.clock))).toBeNull();
});
