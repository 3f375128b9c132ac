import { expect, test } from '@jest/globals';
import { createRows, systemClock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createReceivedMessageStore } from './received-message-store.ts';

const store = setupStore();

test('a domain that is not verified any more receives until another account verifies one above it', async () => {
  const rows = createRows(store.outside);
  const [former, owner] = [await store.newAccount(), await store.newAccount()];
  await rows.domain(former, 'mail.shop.example', 'pending');
  await rows.inbox({ accountId: former, address: 'a@mail.shop.example' });
  const intake = createReceivedMessageStore(store.db, systemClock, []);
  const accepts = () => intake.accepts('a@mail.shop.example');
  expect(await accepts()).toBe(false);
  await store.outside.query('update domains set first_verified_at = now()');
  expect(await accepts()).toBe(true);
  await rows.domain(former, 'shop.example');
  expect(await accepts()).toBe(true);
  await store.outside.query(`delete from domains where name = 'shop.example'`);
  await rows.domain(owner, 'shop.example', 'pending');
  expect(await accepts()).toBe(true);
  await store.outside.query(`update domains set status = 'verified' where account_id = $1`, [owner]);
  expect(await accepts()).toBe(false);
  await store.outside.query(`update domains set status = 'verified'`);
  expect(await accepts()).toBe(true);
});
