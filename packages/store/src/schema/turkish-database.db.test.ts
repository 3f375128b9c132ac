import { beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, InboxId, ThreadId } from '@postrider/domain';
import { ACTOR, createEmptyDatabase, createRows } from '@postrider/testing';
import { sendMail, sendToProvider } from '../../test/ended-mail.ts';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { findMessages } from '../inbound/find-messages.ts';
import { createReceivedMessageStore } from '../inbound/received-message-store.ts';
import { createThreadStore } from '../inbound/threads.ts';
import { createErasureStore } from '../retention/erasures.ts';
import { migrate } from './migrate.ts';

/* In a database with the rules of Turkish, `lower('I')` is a dotless i. JavaScript makes it an `i`. */

const INBOX = 'ibx_info' as InboxId;
const store = setupStore(async () => {
  const database = await createEmptyDatabase(`locale_provider icu icu_locale 'tr' locale 'C'`);
  await migrate(database.url);
  return database;
});
let accountId: AccountId;

beforeEach(async () => {
  const rows = createRows(store.outside);
  await rows.clear();
  accountId = await rows.account();
  await rows.inbox({ id: INBOX, accountId, address: `info@${SHARED_DOMAIN}` });
});

async function receive(recipient: string, from = 'a@a.example'): Promise<string | undefined> {
  const receiver = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  const reception = await receiver.receive(incoming({ recipients: [recipient], from }));
  return reception.kind === 'stored' ? reception.messages[0]?.id : undefined;
}

const found = async (address: string) =>
  (await findMessages(store.db, { address }, { limit: 9, accountId })).map(({ id }) => id);

test('a person whose address was written in capitals is erased', async () => {
  await sendToProvider(store, await sendMail(store, accountId, { to: ['IRENE@b.example'] }));
  const erasures = createErasureStore(store.db.pool);
  expect((await erasures.erase(accountId, 'irene@b.example', ACTOR)).erased).toMatchObject({
    emails: 1,
    events: 1,
  });
});

test('received mail is found by an address that was written in capitals', async () => {
  const id = await receive(`INFO+TIP@${SHARED_DOMAIN}`);
  expect(await found(`info+tip@${SHARED_DOMAIN}`)).toEqual([id]);
});

test('received mail is found by a sender that was written in capitals', async () => {
  const id = await receive(`info@${SHARED_DOMAIN}`, 'IRENE@b.example');
  expect(await found('irene@b.example')).toEqual([id]);
});

test('a webhook with domains gets mail to a domain that was written in capitals', async () => {
  const events = async () =>
    store.outside.query<{ is: boolean }>('select is_event_of_domains(data, $1) as is from events', [
      [SHARED_DOMAIN],
    ]);
  await receive(`info@${SHARED_DOMAIN.toUpperCase()}`);
  expect(await events()).toEqual([{ is: true }]);
});

test('a sent message has the references of its header In-Reply-To', async () => {
  const id = await sendMail(store, accountId, { headers: { 'In-Reply-To': '<first@x.example>' } });
  const thread = newId('thread', store.clock) as ThreadId;
  await store.outside.query('insert into inbox_sends values ($1, $2, $3, now())', [id, INBOX, thread]);
  const page = await createThreadStore(store.db, store.clock).emails(thread, { limit: 1, cursor: null });
  expect(page?.entries[0]?.references).toEqual(['first@x.example']);
});
