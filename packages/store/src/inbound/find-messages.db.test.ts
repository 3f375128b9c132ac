import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { findMessage, findMessages } from './find-messages.ts';
import { findHeldMessages } from './held-messages.ts';
import { createReceivedMessageStore } from './received-message-store.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
let accountId: AccountId;

beforeEach(async () => {
  await rows().clear();
  accountId = await store.newAccount();
});

async function addInbox(address: string, more: { kind?: 'test'; isPostmaster?: true } = {}) {
  return rows().inbox({ accountId, address, ...more });
}

const addRule = async (match: string, of = accountId) => rows().routingRule(of, match);

/** @returns the ids of what was stored, one for each inbox or rule. */
async function receive(recipients: string[], from = 'Ann <ann@news.shop.example>'): Promise<string[]> {
  store.clock.advance(1_000);
  const receiver = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  const reception = await receiver.receive(incoming({ recipients, from }));
  return reception.kind === 'stored' ? reception.messages.map(({ id }) => id) : [];
}

const found = async (address: string, limit = 10, of?: AccountId) =>
  (await findMessages(store.db, { address }, { limit, accountId: of })).map(({ id }) => id);

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

test.each([
  ['Ann@m\u00fcnchen.example', ['ann@M\u00dcNCHEN.example', 'ANN@xn--mnchen-3ya.example']],
  ['Ann <ann@xn--mnchen-3ya.example>', ['ann@m\u00fcnchen.example', 'ann@XN--mnchen-3ya.example']],
  ['\u00dcnal@shop.example', ['\u00dcnal@shop.example', '\u00fcnal@shop.example', 'u\u0308nal@shop.example']],
  [
    'e\u0301ric@shop.example',
    ['\u00e9ric@shop.example', '\u00c9ric@shop.example', 'e\u0301ric@shop.example'],
  ],
  ['"ann"@shop.example', ['ann@shop.example']],
  [`${'N'.repeat(998)} <\u00dcnal@shop.example>`, ['\u00fcnal@shop.example']],
  ['\u00dcnal@localhost', ['\u00fcnal@localhost']],
])('the sender %s is found in each form of the address', async (from, forms) => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  const received = await receive([`a@${SHARED_DOMAIN}`], from);
  for (const form of forms) expect([form, await found(form)]).toEqual([form, received]);
});

test('a message that was stored before the column of senders was there is found', async () => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  const received = await receive([`a@${SHARED_DOMAIN}`], 'Ann <Ann@News.shop.example>');
  await store.outside.query('update messages set sender = null');
  expect(await found('ann@news.shop.example')).toEqual(received);
});

test('an inbox leads to its mail, live or test, with any tag; an address with a tag only to that of the tag', async () => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  await addInbox(`t@${SHARED_DOMAIN}`, { kind: 'test' });
  const [plain] = await receive([`A@${SHARED_DOMAIN}`]);
  const [tagged] = await receive([`a+News@${SHARED_DOMAIN}`]);
  const [dotted] = await receive([`a+News@${SHARED_DOMAIN}.`]);
  const [beyondAscii] = await receive([`a+\u00dcnal-e\u0301@${SHARED_DOMAIN}`]);
  const [ofTest] = await receive([`t@${SHARED_DOMAIN}`]);
  expect(await found(`a@${SHARED_DOMAIN}`)).toEqual([beyondAscii, dotted, tagged, plain]);
  expect(await found(`a@${SHARED_DOMAIN}`, 1)).toEqual([beyondAscii]);
  expect(await found(`a+news@${SHARED_DOMAIN}`)).toEqual([dotted, tagged]);
  expect(await found(`a+\u00fcnal-\u00e9@${SHARED_DOMAIN}`)).toEqual([beyondAscii]);
  expect(await found(`t@${SHARED_DOMAIN}`)).toEqual([ofTest]);
});

test('of an inbox with more mail than is looked at, the newest is found', async () => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  const [newest] = await receive([`a@${SHARED_DOMAIN}`]);
  await store.outside.query(
    `insert into messages (id, account_id, kind, inbox_id, status, created_at, content_digest, blob, size, from_address,
                           to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
     select 'msg_01jd' || lpad(n::text, 22, '0'), account_id, kind, inbox_id, status, created_at - n * interval '1 s',
            n::text::bytea, blob, size, 'joan@shop.example', to_addresses, cc_addresses, reply_to_addresses, received_for,
            headers, spf, dkim, dmarc, automatic
     from messages, generate_series(1, 1000) n`,
  );
  expect(await found(`a@${SHARED_DOMAIN}`, 1)).toEqual([newest]);
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
  for (const table of ['events', 'event_recipients'])
    await store.outside.query(`update ${table} set type = 'message.held'`);
  expect(await found('bob@shop.example')).toEqual([second, first]);
  await store.outside.query('delete from inbound_routes');
  expect(await found('bob@shop.example')).toEqual([second, first]);
});

test('mail to a postmaster is found by that address, and not by another', async () => {
  await addInbox(`ops@${SHARED_DOMAIN}`, { isPostmaster: true });
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

test('mail of a deleted inbox takes the place of no other mail of its sender', async () => {
  await addInbox(`a@${SHARED_DOMAIN}`);
  const [older] = await receive([`a@${SHARED_DOMAIN}`]);
  const removed = await addInbox(`b@${SHARED_DOMAIN}`);
  await receive([`b@${SHARED_DOMAIN}`]);
  await store.outside.query('insert into removed_inboxes values ($1)', [removed]);
  expect(await found('ann@news.shop.example', 1)).toEqual([older]);
});

describe('of an account, its newest messages are found', () => {
  let other: AccountId;
  beforeEach(async () => void (other = await store.newAccount()));
  const give = (id: string | undefined) =>
    store.outside.query('update messages set account_id = $2 where id = $1', [id, other]);

  test('by their sender and by their Message-ID', async () => {
    await addInbox(`a@${SHARED_DOMAIN}`);
    const [mine] = await receive([`a@${SHARED_DOMAIN}`]);
    const [theirs] = await receive([`a@${SHARED_DOMAIN}`]);
    await give(theirs);
    await store.outside.query(`update messages set message_id = 'one@mail.example'`);
    const byId = async (of?: AccountId) =>
      findMessages(store.db, { messageId: 'one@mail.example' }, { accountId: of, limit: 1 });
    for (const [of, id] of [
      [accountId, mine],
      [other, theirs],
      [undefined, theirs],
    ] as const) {
      // oxfmt-ignore
      expect(await found('ann@news.shop.example', 1, of)).toEqual([id]);
      expect(await byId(of)).toMatchObject([{ id }]);
    }
  });

  test('by the address of an inbox, which another account does not have', async () => {
    await addInbox(`a@${SHARED_DOMAIN}`);
    const received = await receive([`a@${SHARED_DOMAIN}`]);
    expect(await found(`a@${SHARED_DOMAIN}`, 1, accountId)).toEqual(received);
    expect(await found(`a@${SHARED_DOMAIN}`, 1, other)).toEqual([]);
  });

  test('by an address behind rules of several accounts', async () => {
    await addRule(`b@${SHARED_DOMAIN}`);
    const [mine] = await receive([`b@${SHARED_DOMAIN}`]);
    await store.outside.query('delete from inbound_routes');
    await addRule(`b@${SHARED_DOMAIN}`, other);
    const theirs = [await receive([`b@${SHARED_DOMAIN}`]), await receive([`b@${SHARED_DOMAIN}`])].flat();
    await addRule(`*@${SHARED_DOMAIN}`);
    expect(await found(`b@${SHARED_DOMAIN}`, 1, accountId)).toEqual([mine]);
    expect(await found(`b@${SHARED_DOMAIN}`, 3)).toEqual([...theirs.toReversed(), mine]);
  });
});

test('a long subject is cut wherever a list shows it, and one that is missing stays null', async () => {
  const held = await rows().message({ accountId, held: true });
  await store.outside.query(
    `update messages set subject = repeat('ä', 1000000), from_address = 'a@a.example'`,
  );
  const subjects = async () => [
    (await findMessage(store.db, held))?.subject,
    (await findMessages(store.db, { address: 'a@a.example' }, { limit: 5 }))[0]?.subject,
    (await findHeldMessages(store.db, {}, { after: null, limit: 5 })).messages[0]?.subject,
  ];
  expect(await subjects()).toEqual(Array.from({ length: 3 }, () => 'ä'.repeat(998)));
  await store.outside.query('update messages set subject = null');
  expect(await subjects()).toEqual([null, null, null]);
});
