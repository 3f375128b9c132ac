import { beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, InboxId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { findMessages } from './find-messages.ts';
import { createReceivedMessageStore } from './received-message-store.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
let accountId: AccountId;

beforeEach(async () => {
  await rows().clear();
  accountId = await store.newAccount();
});

async function addInbox(address: string, kind = 'live', isPostmaster = false): Promise<InboxId> {
  const id = newId('inbox', store.clock);
  await store.outside.query(
    `insert into inboxes (id, account_id, kind, address, name, created_at, updated_at, postmaster)
     values ($1, $2, $3::key_kind, $4, 'in', now(), now(), $5)`,
    [id, accountId, kind, address, isPostmaster],
  );
  return id;
}

async function addRule(match: string, of = accountId) {
  await store.outside.query(
    `insert into inbound_routes (id, account_id, match, webhook_id, created_at) values ($1, $2, $3, 'wh_1', now())`,
    [newId('routingRule', store.clock), of, match],
  );
}

/** @returns the ids of what was stored, one for each inbox or rule. */
async function receive(recipients: string[], from = 'Ann <ann@news.shop.example>'): Promise<string[]> {
  store.clock.set(new Date(store.clock.now().getTime() + 1_000));
  const receiver = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  const reception = await receiver.receive(incoming({ recipients, from }));
  return reception.kind === 'stored' ? reception.messages.map(({ id }) => id) : [];
}

const found = async (address: string, limit = 10) =>
  (await findMessages(store.db, { address }, limit)).map(({ id }) => id);

test('a sender leads to the mail, with and without a name, in any case', async () => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  const to = [`a@${SHARED_DOMAIN}`];
  const [first] = await receive(to, '"Ann <x>" <Ann@News.shop.example>');
  const [second] = await receive(to, 'ann@news.shop.example');
  await receive(to, 'joann@news.shop.example');
  await receive(to, '');
  await receive(to, `x <${'y'.repeat(5_000)}@news.shop.example>`);
  expect(await found('ANN@news.shop.example')).toEqual([second, first]);
  expect(await found('ann@news.shop.example', 1)).toEqual([second]);
  expect(await found('x@news.shop.example')).toEqual([]);
});

test('an inbox leads to its mail, live or test, with any tag; an address with a tag only to that of the tag', async () => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  await addInbox(`t@${SHARED_DOMAIN}`, 'test');
  const [plain] = await receive([`A@${SHARED_DOMAIN}`]);
  const [tagged] = await receive([`a+News@${SHARED_DOMAIN}`]);
  const [ofTest] = await receive([`t@${SHARED_DOMAIN}`]);
  expect(await found(`a@${SHARED_DOMAIN}`)).toEqual([tagged, plain]);
  expect(await found(`a@${SHARED_DOMAIN}`, 1)).toEqual([tagged]);
  expect(await found(`a+news@${SHARED_DOMAIN}`)).toEqual([tagged]);
  expect(await found(`t@${SHARED_DOMAIN}`)).toEqual([ofTest]);
});

test('an address behind a rule leads to its mail, whether it is the first or the last recipient', async () => {
  await rows().domain(accountId, 'shop.example');
  await addRule('*@shop.example');
  await addRule(`b@${SHARED_DOMAIN}`);
  const [first] = await receive(['bob@shop.example', 'eve@shop.example']);
  const [second] = await receive(['eve@shop.example', 'Bob@shop.example', 'dan@shop.example']);
  const [exact] = await receive([`b@${SHARED_DOMAIN}`]);
  expect(await found('bob@shop.example')).toEqual([second, first]);
  expect(await found('dan@shop.example')).toEqual([second]);
  expect(await found(`b@${SHARED_DOMAIN}`)).toEqual([exact]);
  expect(await found('nobody@shop.example')).toEqual([]);
  await store.outside.query('delete from inbound_routes');
  expect(await found('bob@shop.example')).toEqual([second, first]);
});

test('mail to a postmaster is found by that address, and not by another', async () => {
  await addInbox(`ops@${SHARED_DOMAIN}`, 'live', true);
  const [message] = await receive([`postmaster@${SHARED_DOMAIN}`]);
  expect(await found(`postmaster@${SHARED_DOMAIN}`)).toEqual([message]);
  expect(await found('postmaster@shop.example')).toEqual([]);
});

test('mail of a deleted inbox is not found', async () => {
  const inbox = await addInbox(`a@${SHARED_DOMAIN}`);
  await receive([`a@${SHARED_DOMAIN}`]);
  await store.outside.query('insert into removed_inboxes values ($1)', [inbox]);
  expect(await found(`a@${SHARED_DOMAIN}`)).toEqual([]);
  expect(await found('ann@news.shop.example')).toEqual([]);
});
