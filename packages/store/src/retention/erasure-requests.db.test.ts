import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { letTimePass } from '../../test/let-time-pass.ts';
import { setupStore } from '../../test/open-store.ts';
import { NOTICES_ACCOUNT } from '../mail/send-emails.ts';
import { createErasureStore } from './erasures.ts';
import type { ErasureStore } from './erasures.ts';

/* Several requests at the same time. */

const BOB = 'bob@b.example';

const store = setupStore();
let rows: Rows;
let erasures: ErasureStore;
let accountId: AccountId;

beforeAll(() => {
  rows = createRows(store.outside);
  erasures = createErasureStore(store.db.pool);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await rows.account();
});

test('the request that was due first is resumed first', async () => {
  const late = await rows.account();
  for (const id of [accountId, late]) await erasures.erase(id, BOB, ACTOR);
  await store.outside.query(
    `update erasures set due_at = now() - case account_id when $1 then interval '2 hours' else interval '1 hour' end`,
    [late],
  );
  const resumed = (await erasures.resume()).map((each) => each.accountId);
  expect(resumed.filter((id) => id !== NOTICES_ACCOUNT)).toEqual([late, accountId]);
});

test('a message that two requests have erased stays noted for the other request', async () => {
  for (const address of [BOB, 'eve@e.example']) await erasures.erase(accountId, address, ACTOR);
  await store.outside.query(`update erasures set due_at = 'infinity' where address <> $1`, [BOB]);
  await store.outside.query(
    `insert into erased_emails (account_id, address, email_id) values ($1, $2, 'em_1'), ($1, 'eve@e.example', 'em_1')`,
    [accountId, BOB],
  );
  await letTimePass(store.outside, '10 minutes');
  expect(await erasures.resume()).toMatchObject([{ accountId, finished: true }]);
  expect(await store.outside.query('select address from erased_emails')).toEqual([
    { address: 'eve@e.example' },
  ]);
});
