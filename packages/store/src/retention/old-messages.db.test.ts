import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, InboxId, MessageId, ThreadId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createInboxStore } from '../inbound/inboxes.ts';
import type { InboxStore } from '../inbound/inboxes.ts';
import { createMessageStore } from '../inbound/messages.ts';
import { createReceivedMessageStore } from '../inbound/received-message-store.ts';
import type { IncomingMessage, ReceivedMessageStore } from '../inbound/received-message-store.ts';
import { createEmailStore } from '../mail/emails.ts';
import { dropOldThreads, dropReceivedMail } from './old-messages.ts';

const ADDRESS = `a@${SHARED_DOMAIN}`;
const FILE = { filename: 'a', contentType: 'a/b', contentId: null, size: 1, blob: 'c'.repeat(64) };

const store = setupStore();
let rows: Rows;
let intake: ReceivedMessageStore;
let inboxes: InboxStore;
let accountId: AccountId;
let inboxId: InboxId;

beforeAll(async () => {
  rows = createRows(store.outside);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED_DOMAIN],
    reservedNames: [],
    perAccountMax: 9,
  });
});
beforeEach(async () => {
  await rows.clear();
  accountId = await store.newAccount();
  const created = await inboxes.create({
    accountId,
    kind: 'live',
    address: ADDRESS,
    name: 'A',
    fromName: null,
  });
  if (created.kind !== 'created') throw new Error(created.kind);
  inboxId = created.id;
});

/** Dates a row so many days ago. The time of its thread follows. */
async function age(table: string, column: string, id: string | undefined, days: number): Promise<void> {
  await store.outside.query(
    `with aged as (
       update ${table} set created_at = now() - make_interval(days => $2) where ${column} = $1
       returning thread_id, created_at
     )
     update inbox_threads t
     set last_at = greatest(aged.created_at, (select max(m.created_at) from messages m where m.thread_id = t.id and m.id <> $1),
                            (select max(s.created_at) from inbox_sends s where s.thread_id = t.id and s.email_id <> $1))
     from aged where t.id = aged.thread_id`,
    [id, days],
  );
}

/** A message that came so many days ago. */
async function received(ageDays: number, more: Partial<IncomingMessage> = {}): Promise<MessageId> {
  const reception = await intake.receive(incoming(more));
  const [message] = reception.kind === 'stored' ? reception.messages : [];
  if (message === undefined) throw new Error('not stored');
  await age('messages', 'id', message.id, ageDays);
  return message.id;
}

async function threadOf(id: MessageId): Promise<ThreadId> {
  const [row] = await store.outside.query<{ id: ThreadId }>(
    'select thread_id as id from messages where id = $1',
    [id],
  );
  if (row === undefined) throw new Error('no message');
  return row.id;
}

/** Mail that the inbox sends, in answer to a message, so many days ago. */
async function answered(messageId: string, ageDays: number): Promise<void> {
  const sent = await createEmailStore(store.db, store.clock).send({
    accountId,
    kind: 'live',
    domains: [],
    idempotency: null,
    drafts: [draftOf({ from: ADDRESS, headers: { 'In-Reply-To': `<${messageId}>` } })],
  });
  if (sent.kind !== 'stored') throw new Error(sent.kind);
  await age('inbox_sends', 'email_id', sent.ids[0], ageDays);
}

const idsOf = async (table: string) =>
  (await store.outside.query<{ id: string }>(`select * from ${table} order by 1`)).map(({ id }) => id);

describe('received mail', () => {
  test('goes past its days with its attachments, held or not, and younger mail stays', async () => {
    await received(31, { attachments: [FILE, FILE] });
    await received(31, { heldReason: 'spam' });
    const young = [await received(29, { attachments: [FILE] }), await received(29, { heldReason: 'spam' })];
    expect(await dropReceivedMail(store.db.pool, 30)).toBe(2);
    expect(await idsOf('messages')).toEqual(young.sort());
    expect(await idsOf('message_attachments')).toHaveLength(1);
    expect(await dropReceivedMail(store.db.pool, 30)).toBe(0);
  });

  test('goes in as many steps as it takes, messages of one moment among them', async () => {
    for (let n = 0; n < 14; n += 1) await received(40);
    await store.outside.query(
      'update messages set created_at = (select min(created_at) from messages) where size > 0',
    );
    for (let n = 0; n < 14; n += 1) await received(35);
    expect(await dropReceivedMail(store.db.pool, 30)).toBe(28);
  });

  test('leaves an inbox whose counts match the kept messages', async () => {
    await received(31);
    const kept = await received(1);
    await dropReceivedMail(store.db.pool, 30);
    const inbox = await inboxes.find({ accountId, kind: 'live' }, inboxId);
    expect(inbox?.unread).toBe(1);
    expect(inbox?.lastReceived).toEqual(
      (await createMessageStore(store.db, store.clock).find({ accountId, kind: 'live' }, kept))?.receivedAt,
    );
    await store.outside.query('delete from messages where id = $1', [kept]);
    expect(await inboxes.find({ accountId, kind: 'live' }, inboxId)).toMatchObject({
      unread: 0,
      lastReceived: null,
    });
  });

  test('that is being released is left for the next time', async () => {
    const id = await received(31, { heldReason: 'spam' });
    await inUndoneTransaction(store.db.pool, async (release) => {
      await release.query('select from messages where id = $1 for no key update', [id]);
      expect(await dropReceivedMail(store.db.pool, 30)).toBe(0);
    });
    expect(await dropReceivedMail(store.db.pool, 30)).toBe(1);
    expect(
      await createMessageStore(store.db, store.clock).release({ accountId, kind: 'live' }, id, ACTOR),
    ).toBe('missing');
  });
});

describe('a thread', () => {
  const drop = async () => {
    await dropReceivedMail(store.db.pool, 30);
    return dropOldThreads(store.db.pool, 30);
  };

  test('goes when nothing came into it for so long, with its rows in `inbox_sends`; the sent mail stays', async () => {
    await received(40, { messageId: 'old@mail.example' });
    await answered('old@mail.example', 35);
    expect(await drop()).toBe(1);
    expect(await idsOf('inbox_threads')).toEqual([]);
    expect(await store.outside.query('select from inbox_sends')).toEqual([]);
    expect(await idsOf('emails')).toHaveLength(1);
  });

  test('stays while something was sent in it, or received', async () => {
    const sentIn = await threadOf(await received(40, { messageId: 'one@mail.example' }));
    await answered('one@mail.example', 20);
    const receivedIn = await threadOf(await received(40, { messageId: 'two@mail.example' }));
    await received(20, { inReplyTo: 'two@mail.example' });
    expect(await drop()).toBe(0);
    expect((await idsOf('inbox_threads')).sort()).toEqual([sentIn, receivedIn].sort());
    expect(await store.outside.query('select from inbox_sends')).toHaveLength(1);
  });

  test('stays while a message of it could not be dropped', async () => {
    const id = await received(40);
    await inUndoneTransaction(store.db.pool, async (somebody) => {
      await somebody.query('select from messages where id = $1 for no key update', [id]);
      expect(await drop()).toBe(0);
    });
    expect(await drop()).toBe(1);
  });

  test('with more rows in `inbox_sends` than one step deletes goes, too', async () => {
    const threadId = await threadOf(await received(40));
    await store.outside.query(
      `with made as (
         insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
                             reply_to_addresses, subject, headers, last_event, created_at)
         select 'em_' || n, $1, 'live', 'sent', 'a', '{}', '{}', '{}', '{}', '', '{}', 'sent', now()
         from generate_series(1, 2500) n returning id)
       insert into inbox_sends select id, $2, $3, now() - interval '40 days' from made`,
      [accountId, inboxId, threadId],
    );
    expect(await drop()).toBe(1);
    expect(await store.outside.query('select from inbox_sends')).toEqual([]);
  });

  test('in whose inbox something is received just now is left for the next time', async () => {
    await received(40);
    await inUndoneTransaction(store.db.pool, async (intaking) => {
      await intaking.query('select from inboxes where id = $1 for no key update', [inboxId]);
      expect(await drop()).toBe(0);
    });
    expect(await drop()).toBe(1);
  });

  test('stays when something was sent in it just before its inbox was locked', async () => {
    const threadId = await threadOf(await received(40, { messageId: 'old@mail.example' }));
    await answered('old@mail.example', 35);
    await dropReceivedMail(store.db.pool, 30);
    await inUndoneTransaction(store.db.pool, async (sending) => {
      await sending.query('lock table inboxes in access exclusive mode');
      const dropping = dropOldThreads(store.db.pool, 30);
      await untilWaitingForLock(store.outside); // it has found the thread
      await sending.query('update inbox_threads set last_at = now()');
      await sending.query('commit');
      expect(await dropping).toBe(0);
    });
    expect(await idsOf('inbox_threads')).toEqual([threadId]);
    expect(await store.outside.query('select from inbox_sends')).toHaveLength(1);
  });

  test('an answer that arrives during the deletion joins the thread or begins a new one', async () => {
    for (let round = 0; round < 30; round += 1) {
      const messageId = `${round}@mail.example`;
      await received(40, { messageId });
      await answered(messageId, 35);
      await dropReceivedMail(store.db.pool, 30);
      const [row] = await store.outside.query<{ id: string }>('select email_id as id from inbox_sends');
      const [id] = await Promise.all([
        received(0, { inReplyTo: `${row?.id ?? ''}@mail.example` }),
        dropOldThreads(store.db.pool, 30),
      ]);
      await threadOf(id);
      await store.outside.query('delete from inbox_threads');
      await store.outside.query('delete from inbox_sends');
    }
  });
});
