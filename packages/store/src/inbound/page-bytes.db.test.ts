import { beforeEach, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import type { AccountId, InboxId, KeyKind, MessageId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import type { Page } from '../db/page.ts';
import { createInboxStore } from './inboxes.ts';
import { createMessageStore } from './messages.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { IncomingMessage } from './received-message-store.ts';
import { createThreadStore } from './threads.ts';

/* The pages of messages, when a stranger fills every text of a message. */

const MESSAGES = 5;
/** Bytes of a message. Two of them fit on a page. One sixth less, and three would. */
const LONG = 3 * 1024 * 1024;
const FIRST = 'first@mail.example';
/** More than a page shows: the rest does not count. */
const FILES = Array.from({ length: 2 * LIMITS.recordEntries }, () => ({
  filename: 'a',
  contentType: 'text/plain',
  contentId: null,
  size: 1,
  blob: 'b'.repeat(64),
}));

const store = setupStore();
let reader: { accountId: AccountId; kind: KeyKind };
let inboxId: InboxId;

beforeEach(async () => {
  await createRows(store.outside).clear();
  reader = { accountId: await store.newAccount(), kind: 'live' };
  const inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED_DOMAIN],
    reservedNames: [],
    perAccountMax: 9,
  });
  const address = `a@${SHARED_DOMAIN}`;
  const creation = await inboxes.create({ ...reader, address, name: 'a', fromName: null });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  inboxId = creation.id;
});

/** Receives messages of one thread. @returns their ids, the newest first */
async function receive(count: number, more: Partial<IncomingMessage>): Promise<string[]> {
  const intake = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const inThread = n === 0 ? { messageId: FIRST } : { inReplyTo: FIRST };
    const reception = await intake.receive(incoming({ ...inThread, ...more }));
    store.clock.advance(1);
    ids.unshift(...(reception.kind === 'stored' ? reception.messages : []).map(({ id }) => id));
  }
  return ids;
}

type Cursor = { readonly side: 'after' | 'before'; readonly id: string } | null;
type Read = (cursor: Cursor) => Promise<Page<{ readonly id: string }> | null>;

/** Reads all pages, older and older ones or newer and newer ones. @returns the ids of each page */
async function pages(read: Read, side: 'after' | 'before', from: Cursor = null): Promise<string[][]> {
  const found: string[][] = [];
  let cursor = from;
  for (let more = true; more;) {
    const page = await read(cursor);
    if (page === null) throw new Error('no page');
    const ids = page.entries.map(({ id }) => id);
    found.push(ids);
    more = page.hasMore;
    cursor = { side, id: (side === 'after' ? ids.at(-1) : ids[0]) ?? '' };
  }
  return found;
}

async function ofThread(): Promise<Read> {
  const threads = createThreadStore(store.db, store.clock);
  const [thread] = (await threads.list(inboxId, null, { limit: 2, cursor: null }))?.entries ?? [];
  if (thread === undefined) throw new Error('no thread');
  expect(thread.emailCount).toBe(MESSAGES);
  return async (cursor) => threads.emails(thread.id, { limit: 100, cursor });
}

const ofAccount: Read = async (cursor) =>
  createMessageStore(store.db, store.clock).list(
    reader,
    { status: null, inboxId: null },
    { limit: 100, cursor: cursor as { side: 'after' | 'before'; id: MessageId } | null },
  );

async function expectPagesOfTwo(read: Read, ids: readonly string[]): Promise<void> {
  const [a, b, c, d, e] = ids as [string, string, string, string, string];
  expect(await pages(read, 'after')).toEqual([[a, b], [c, d], [e]]);
  expect(await pages(read, 'before', { side: 'before', id: e })).toEqual([
    [c, d],
    [a, b],
  ]);
}

/** Fills a column of all messages. Postgres compresses the text, as any long one. */
async function fill(columns: readonly string[], bytesOfAll: number): Promise<void> {
  const text = `repeat('x', ${bytesOfAll / columns.length})`;
  const written = columns.map(
    (column) => `${column} = ${/_addresses$|_ids$/.test(column) ? `array[${text}]` : text}`,
  );
  await store.outside.query(`update messages set ${written.join(', ')}`);
}

const ADDRESSES = ['from_address', 'to_addresses', 'cc_addresses', 'reply_to_addresses'];

test('a page of a thread ends early for the bytes of all texts together, and the next one goes on', async () => {
  const ids = await receive(MESSAGES, {});
  await fill([...ADDRESSES, 'subject', 'reference_ids'], LONG);
  await expectPagesOfTwo(await ofThread(), ids);
});

test('a list of messages ends early for the bytes of all addresses together, and the next one goes on', async () => {
  const ids = await receive(MESSAGES, {});
  await fill(ADDRESSES, LONG);
  await expectPagesOfTwo(ofAccount, ids);
});

test('a page of a thread ends early for the names of the files that it shows', async () => {
  const ids = await receive(MESSAGES, { attachments: FILES });
  await store.outside.query(`update message_attachments set filename = repeat('x', $1)`, [
    Math.ceil(LONG / LIMITS.recordEntries),
  ]);
  await expectPagesOfTwo(await ofThread(), ids);
});

test('a list of messages ends early for the bytes that it reads of files', async () => {
  const name = '\u4e2d'.repeat(LIMITS.recordNameLength);
  const attachments = FILES.map((file) => ({ ...file, filename: name, contentId: name }));
  const ids = await receive(20, { attachments });
  const page = await createMessageStore(store.db, store.clock).list(
    reader,
    { status: null, inboxId: null },
    { limit: 100, cursor: null },
  );
  const read = page?.entries.map((message) => Buffer.byteLength(JSON.stringify(message))) ?? [];
  const bytes = read.reduce((sum, each) => sum + each, 0);
  expect(bytes).toBeLessThan(1.1 * LIMITS.eventPageBytes);
  expect(bytes).toBeGreaterThan(LIMITS.eventPageBytes - (read[0] ?? 0));
  expect((await pages(ofAccount, 'after')).flat()).toEqual(ids);
});

test('a page of a thread shows the first 100 attachments of a message, the message itself all', async () => {
  const [id = ''] = await receive(MESSAGES, {
    attachments: FILES.map((file) => ({ ...file, filename: 'a' })),
  });
  const threads = createThreadStore(store.db, store.clock);
  const [thread] = (await threads.list(inboxId, null, { limit: 1, cursor: null }))?.entries ?? [];
  if (thread === undefined) throw new Error('no thread');
  const page = await threads.emails(thread.id, { limit: 1, cursor: null });
  expect(page?.entries.map(({ attachments }) => attachments.length)).toEqual([LIMITS.recordEntries]);
  expect((await threads.email(thread.id, id))?.attachments).toHaveLength(FILES.length);
});
