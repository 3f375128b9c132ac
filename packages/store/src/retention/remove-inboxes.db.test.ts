import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { AccountId, InboxId, MessageId, ThreadId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { findMessages } from '../inbound/find-messages.ts';
import { createInboxStore } from '../inbound/inboxes.ts';
import type { InboxCreation, InboxStore } from '../inbound/inboxes.ts';
import { createMessageStore } from '../inbound/messages.ts';
import { createReceivedMessageStore } from '../inbound/received-message-store.ts';
import type { IncomingMessage, ReceivedMessageStore } from '../inbound/received-message-store.ts';
import { createEmailStore } from '../mail/emails.ts';
import { removeInboxes } from './remove-inboxes.ts';

const ADDRESS = `a@${SHARED_DOMAIN}`;
const FILE = { filename: 'a', contentType: 'a/b', contentId: null, size: 1, blob: 'c'.repeat(64) };
const FIRST_PAGE = { limit: 10, cursor: null } as const;
const ALL = { status: null, inboxId: null } as const;

const store = setupStore();
let intake: ReceivedMessageStore;
let inboxes: InboxStore;
let reader: { readonly accountId: AccountId; readonly kind: 'live' };
let inboxId: InboxId;

beforeAll(async () => {
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED_DOMAIN],
    reservedNames: [],
    perAccountMax: 1,
  });
});
beforeEach(async () => {
  await createRows(store.outside).clear();
  reader = { accountId: await store.newAccount(), kind: 'live' };
  inboxId = idOf(await makeInbox());
});

const makeInbox = async (accountId = reader.accountId) =>
  inboxes.create({ accountId, kind: 'live', address: ADDRESS, name: 'A', fromName: null });

function idOf(creation: InboxCreation): InboxId {
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.id;
}

async function received(more: Partial<IncomingMessage> = {}): Promise<MessageId> {
  const reception = await intake.receive(incoming(more));
  const [message] = reception.kind === 'stored' ? reception.messages : [];
  if (message === undefined) throw new Error('not stored');
  return message.id;
}

const send = async (threadId?: ThreadId) =>
  createEmailStore(store.db, store.clock).send({
    ...reader,
    domains: [],
    idempotency: null,
    drafts: [draftOf({ from: ADDRESS })],
    ...(threadId === undefined ? {} : { reply: { inboxId, threadId, messages: 1, skipped: [] } }),
  });

const count = async (table: string) =>
  (await store.outside.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n;
const rowsLeft = async () =>
  Promise.all(
    ['messages', 'message_attachments', 'inbox_threads', 'inbox_sends', 'removed_inboxes'].map(count),
  );

test('a deleted inbox frees its address and its place at once, and all that it had is missing', async () => {
  const id = await received({ attachments: [FILE], messageId: 'one@mail.example' });
  const held = await received({ heldReason: 'spam' });
  const messages = createMessageStore(store.db, store.clock);
  const file = (await messages.find(reader, id))?.attachments[0];
  const threadId = (await messages.find(reader, id))?.threadId ?? undefined;
  expect(await makeInbox()).toEqual({ kind: 'limit-reached' });

  expect(await inboxes.delete(reader, ADDRESS)).toBe(inboxId);
  expect(await rowsLeft()).toEqual([2, 1, 1, 0, 1]);
  const seen = async () => ({
    mailIsTaken: await intake.accepts(ADDRESS),
    inbox: await inboxes.find(reader, inboxId),
    deletedAgain: await inboxes.delete(reader, inboxId),
    message: await messages.find(reader, id),
    released: await messages.release(reader, held, ACTOR),
    raw: await messages.findLinked({ messageId: id, attachmentId: null }),
    file: await messages.findLinked({ messageId: id, attachmentId: file?.id ?? null }),
    ofAccount: (await messages.list(reader, ALL, FIRST_PAGE))?.entries,
    heldOfAccount: (await messages.list(reader, { ...ALL, status: 'held' }, FIRST_PAGE))?.entries,
    ofInbox: (await messages.list(reader, { ...ALL, inboxId }, FIRST_PAGE))?.entries,
    behindIt: await messages.list(reader, ALL, { limit: 10, cursor: { side: 'after', id } }),
    byOperator: [
      ...(await findMessages(store.db, { messageId: 'one@mail.example' }, { limit: 5 })),
      ...(await findMessages(store.db, { address: ADDRESS }, { limit: 5 })),
    ],
    reply: await send(threadId),
  });
  const before = await seen();
  expect(before).toEqual({
    mailIsTaken: false,
    inbox: null,
    deletedAgain: null,
    message: null,
    released: 'missing',
    raw: null,
    file: null,
    ofAccount: [],
    heldOfAccount: [],
    ofInbox: [],
    behindIt: null,
    byOperator: [],
    reply: { kind: 'missing' },
  });
  expect(await removeInboxes(store.db.pool)).toEqual({ removed: 1, unfinished: 0 });
  expect(await rowsLeft()).toEqual([0, 0, 0, 0, 0]);
  expect(await seen()).toEqual(before);

  expect((await makeInbox()).kind).toBe('created');
});

test('an address goes to another account after 30 days, whose mail does not join what was there', async () => {
  await received({ messageId: 'one@mail.example' });
  await inboxes.delete(reader, inboxId);
  await store.outside.query(`update released_addresses set released_at = released_at - interval '30 days'`);
  const other = { accountId: await store.newAccount(), kind: 'live' } as const;
  const otherInbox = idOf(await makeInbox(other.accountId));
  const id = await received({ inReplyTo: 'one@mail.example' });
  await removeInboxes(store.db.pool);
  const kept = await createMessageStore(store.db, store.clock).find(other, id);
  expect(kept?.inboxId).toBe(otherInbox);
  expect(kept?.threadId).not.toBeNull();
});

test('rows of a large inbox go in steps, some hundred a look; mail that it sent and other mail stay', async () => {
  await received({ attachments: [FILE] });
  await send();
  await store.outside.query(
    `insert into messages select (json_populate_record(m, json_build_object('id', m.id || n))).*
     from messages m, generate_series(1, 1100) n`,
  );
  await inboxes.delete(reader, inboxId);
  const replacement = idOf(await makeInbox());
  const kept = await received();
  expect(await removeInboxes(store.db.pool)).toEqual({ removed: 0, unfinished: 1 });
  expect(await count(`messages where inbox_id = '${inboxId}'`)).toBeGreaterThan(0);
  expect(await removeInboxes(store.db.pool)).toEqual({ removed: 1, unfinished: 0 });
  expect(await rowsLeft()).toEqual([1, 0, 1, 0, 0]);
  expect(await count('emails')).toBe(1);
  expect(await createMessageStore(store.db, store.clock).find(reader, kept)).toMatchObject({
    inboxId: replacement,
  });
});

test('rows that others hold are left for the next look, and a thread stays with its message', async () => {
  const id = await received();
  await received();
  await inboxes.delete(reader, inboxId);
  await inUndoneTransaction(store.db.pool, async (somebody) => {
    await somebody.query('select from messages where id = $1 for no key update', [id]);
    expect(await removeInboxes(store.db.pool)).toEqual({ removed: 0, unfinished: 1 });
    expect(await rowsLeft()).toEqual([1, 0, 1, 0, 1]);
  });
  await inUndoneTransaction(store.db.pool, async (somebody) => {
    await somebody.query('select from inbox_threads for no key update');
    expect(await removeInboxes(store.db.pool)).toEqual({ removed: 0, unfinished: 1 });
    expect(await rowsLeft()).toEqual([0, 0, 1, 0, 1]);
  });
  expect(await removeInboxes(store.db.pool)).toEqual({ removed: 1, unfinished: 0 });
  expect(await rowsLeft()).toEqual([0, 0, 0, 0, 0]);
});

test('mail that is being stored while its inbox is deleted goes with it, or is not stored', async () => {
  for (let round = 0; round < 20; round += 1) {
    const [result, gone] = await Promise.all([
      intake.receive(incoming()).then(
        ({ kind }) => kind,
        (error: unknown) => String(error),
      ),
      inboxes.delete(reader, ADDRESS),
    ]);
    expect(gone).not.toBeNull();
    expect(result).toMatch(/^stored$|^nobody$|was deleted meanwhile$/);
    await removeInboxes(store.db.pool);
    expect(await rowsLeft()).toEqual([0, 0, 0, 0, 0]);
    await makeInbox();
  }
});
