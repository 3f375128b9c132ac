import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { LIMITS, messageRecord, newId } from '@postrider/domain';
import type { AccountId, InboxId, KeyKind, MessageId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { createInboxStore } from './inboxes.ts';
import { createMessageStore } from './messages.ts';
import type { MessageStore } from './messages.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { IncomingMessage, ReceivedMessageStore } from './received-message-store.ts';

const store = setupStore();
let rows: Rows;
let intake: ReceivedMessageStore;
let messages: MessageStore;
let reader: { accountId: AccountId; kind: KeyKind };
let inboxId: InboxId;

beforeAll(async () => {
  rows = createRows(store.outside);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]);
  messages = createMessageStore(store.db, store.clock);
});
beforeEach(async () => {
  await rows.clear();
  reader = { accountId: await store.newAccount(), kind: 'live' };
  inboxId = await inbox('a', reader);
});

async function inbox(local: string, owner: typeof reader): Promise<InboxId> {
  const inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED_DOMAIN],
    reservedNames: [],
    perAccountMax: 9,
  });
  const address = `${local}@${SHARED_DOMAIN}`;
  const creation = await inboxes.create({ ...owner, address, name: address, fromName: null });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.id;
}

async function received(message: Partial<IncomingMessage> = {}): Promise<MessageId> {
  const reception = await intake.receive(incoming(message));
  store.clock.advance(1); // so that ids are in the order of their making
  const [stored] = reception.kind === 'stored' ? reception.messages : [];
  if (stored === undefined) throw new Error('nothing was stored');
  return stored.id;
}
const held = (message: Partial<IncomingMessage> = {}) => received({ heldReason: 'spam', ...message });

/** A message of a deleted rule. It has no inbox and no thread. */
async function heldWithoutInbox(): Promise<MessageId> {
  await rows.routingRule(reader.accountId, `rule@${SHARED_DOMAIN}`);
  const id = await held({ recipients: [`rule@${SHARED_DOMAIN}`] });
  await store.outside.query('delete from inbound_routes');
  return id;
}

async function threadOf(id: MessageId): Promise<string | null> {
  return (await messages.find(reader, id))?.threadId ?? null;
}

const threads = () => store.outside.query<{ subject: string; last_at: Date }>('select * from inbox_threads');

async function events(): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const found = await store.outside.query<{ type: string; data: string }>(
    'select type, data from events order by id',
  );
  return found.map(({ type, data }) => ({ type, data: JSON.parse(data) as Record<string, unknown> }));
}

const ATTACHMENT = { filename: 'a.pdf', contentType: 'application/pdf', contentId: 'c1', size: 3 };
const attached = { attachments: [{ ...ATTACHMENT, blob: 'c'.repeat(64) }] };

/** Deletes all messages in front of a statement of `read`, counted from 0. */
async function readWithDeletion<T>(statement: number, read: () => Promise<T>): Promise<T> {
  const { pool } = store.db;
  const query = pool.query.bind(pool) as (...asked: unknown[]) => unknown;
  let asked = 0;
  pool.query = (async (...given: unknown[]) => {
    if (asked === statement) await store.outside.query('delete from messages');
    asked += 1;
    return query(...given);
  }) as typeof pool.query;
  try {
    const found = await read();
    expect(asked).toBeGreaterThan(statement);
    return found;
  } finally {
    pool.query = query as typeof pool.query;
  }
}

describe('a message', () => {
  test('is read with its stored fields, and with its text and HTML apart from them', async () => {
    const message = incoming({ ...attached, html: '<p>', references: ['r1@x', 'r2@x'], inReplyTo: 'r2@x' });
    const id = await received(message);
    expect(await messages.find(reader, id)).toEqual({
      id,
      ...reader,
      inboxId,
      ruleId: null,
      threadId: expect.stringMatching(/^thr_/),
      status: 'received',
      heldReason: null,
      receivedAt: expect.any(Date),
      releasedAt: null,
      messageId: message.messageId,
      inReplyTo: 'r2@x',
      references: ['r1@x', 'r2@x'],
      from: message.from,
      to: message.to,
      cc: [],
      replyTo: [],
      receivedFor: message.recipients,
      subject: 'Hi',
      headers: [{ name: 'Subject', value: 'Hi' }],
      auth: message.auth,
      automatic: false,
      complete: true,
      size: 1_000,
      blob: message.blob,
      attachments: [{ id: expect.stringMatching(/^att_/), ...ATTACHMENT, blob: 'c'.repeat(64) }],
    });
    expect(await messages.bodies(id)).toEqual({ text: 'Hello', html: '<p>' });
    expect(await messages.bodies(newId('message', store.clock))).toBeNull();
  });

  describe.each([0, 1, 2])('that is deleted in front of statement %i of a read', (statement) => {
    test('is read whole, or is missing', async () => {
      const id = await received(attached);
      const before = await messages.find(reader, id);
      const found = await readWithDeletion(statement, async () => messages.find(reader, id));
      expect([before, null]).toContainEqual(found);
    });

    test('is found by the link of its attachment, or is missing', async () => {
      const messageId = await received(attached);
      const attachmentId = (await messages.find(reader, messageId))?.attachments[0]?.id ?? null;
      const link = { messageId, attachmentId };
      const before = await messages.findLinked(link);
      const found = await readWithDeletion(statement, async () => messages.findLinked(link));
      expect([before, null]).toContainEqual(found);
    });
  });

  test('has bodies that are read in pieces of bytes, until it or its inbox is deleted', async () => {
    const id = await received({ text: 'aé😀', html: null });
    expect(await messages.bodySize(id, 'text')).toBe(7);
    expect(await messages.bodySize(id, 'html')).toBeNull();
    const piecesOf = async () =>
      Promise.all([0, 2, 4, 6, 7].map(async (at) => messages.bodyPiece(id, 'text', at, 2)));
    const bytes = Buffer.from('aé😀');
    expect(await piecesOf()).toEqual([0, 2, 4, 6, 7].map((at) => bytes.subarray(at, at + 2)));
    await store.outside.query('insert into removed_inboxes (id) values ($1)', [inboxId]);
    expect(await messages.bodySize(id, 'text')).toBeNull();
    expect(await messages.bodyPiece(id, 'text', 0, 2)).toBeNull();
  });

  test('leaves the database with one character more than 1 MiB of text and of HTML', async () => {
    const long = '😀'.repeat(LIMITS.messageBodyBytes + 2);
    const { text, html } = (await messages.bodies(await received({ text: long, html: long }))) ?? {};
    for (const body of [text, html]) expect(body?.length).toBe('😀'.length * (LIMITS.messageBodyBytes + 1));
  });

  test('of another account, or of the other kind of key, is missing', async () => {
    const ids = [await received(), await held()];
    const strangers = [
      { ...reader, kind: 'test' as const },
      { ...reader, accountId: await store.newAccount() },
    ];
    for (const stranger of strangers) {
      for (const id of ids) {
        expect(await messages.find(stranger, id)).toBeNull();
        expect(await messages.release(stranger, id, ACTOR)).toBe('missing');
        const after = { limit: 1, cursor: { side: 'after', id } as const };
        expect(await messages.list(stranger, { status: null, inboxId: null }, after)).toBeNull();
      }
      for (const filtered of [null, inboxId]) {
        for (const status of [null, 'held'] as const) {
          const page = await messages.list(
            stranger,
            { status, inboxId: filtered },
            { limit: 9, cursor: null },
          );
          expect(page).toEqual({ entries: [], hasMore: false });
        }
      }
    }
    expect((await events()).map(({ type }) => type)).toEqual(['message.received', 'message.held']);
  });

  test('and its attachment are found by a link, together or not at all', async () => {
    const message = incoming(attached);
    const messageId = await received(message);
    const other = await received();
    const attachmentId = (await messages.find(reader, messageId))?.attachments[0]?.id ?? null;
    expect(await messages.findLinked({ messageId, attachmentId: null })).toEqual({
      accountId: reader.accountId,
      blob: message.blob,
      filename: null,
      contentType: null,
    });
    const { filename, contentType } = ATTACHMENT;
    expect(await messages.findLinked({ messageId, attachmentId })).toEqual({
      accountId: reader.accountId,
      blob: 'c'.repeat(64),
      filename,
      contentType,
    });
    expect(await messages.findLinked({ messageId: other, attachmentId })).toBeNull();
    await store.outside.query('delete from messages');
    for (const each of [null, attachmentId]) {
      expect(await messages.findLinked({ messageId, attachmentId: each })).toBeNull();
    }
  });
});

describe('a list', () => {
  const idsOf = async (filter: Partial<Parameters<MessageStore['list']>[1]>) => {
    const whole = { status: null, inboxId: null, ...filter };
    const page = await messages.list(reader, whole, { limit: 9, cursor: null });
    return page?.entries.map(({ id }) => id);
  };

  test('has all messages except held ones, or those of one status or inbox', async () => {
    const b = await inbox('b', reader);
    const first = await received();
    const second = await held();
    const third = await held({ recipients: [`b@${SHARED_DOMAIN}`] });
    await messages.release(reader, third, ACTOR);
    const loose = await heldWithoutInbox();
    await messages.release(reader, loose, ACTOR);
    expect(await idsOf({})).toEqual([loose, third, first]);
    expect(await idsOf({ status: 'held' })).toEqual([second]);
    expect(await idsOf({ status: 'released' })).toEqual([loose, third]);
    expect(await idsOf({ status: 'received' })).toEqual([first]);
    expect(await idsOf({ inboxId })).toEqual([first]);
    expect(await idsOf({ inboxId: b, status: 'received' })).toEqual([]);
  });

  test('continues after a message, also after one that no longer matches', async () => {
    const ids = [await held(), await held(), await held()];
    await messages.release(reader, ids[1] as MessageId, ACTOR);
    const page = (side: 'after' | 'before') =>
      messages.list(
        reader,
        { status: 'held', inboxId: null },
        {
          limit: 9,
          cursor: { side, id: ids[1] as MessageId },
        },
      );
    expect((await page('after'))?.entries.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await page('before'))?.entries.map(({ id }) => id)).toEqual([ids[2]]);
  });

  test('reads the fields of each record, the same as in the event', async () => {
    const many = Array.from({ length: 120 }, (_, n) => `a${n}@x.example`);
    const name = '\u{1f389}'.repeat(1_200);
    const message = {
      to: many,
      cc: many,
      replyTo: many,
      subject: name,
      messageId: `${name}@x`,
      inReplyTo: `${name}@y`,
      text: 'é'.repeat(2 * LIMITS.recordTextBytes),
      attachments: many.map((filename) => ({ ...ATTACHMENT, filename: filename + name, blob: 'b' })),
    };
    await received(message);
    await received({ text: 'x'.repeat(LIMITS.recordTextBytes) });
    await received({ text: null, subject: null, messageId: null });
    const page = await messages.list(reader, { status: null, inboxId: null }, { limit: 2 + 1, cursor: null });
    const records = page?.entries.map(messageRecord) ?? [];
    expect(records.toReversed()).toEqual((await events()).map(({ data }) => data));
    expect(records.map((record) => record.text_truncated)).toEqual([false, false, true]);
    const [, , big] = page?.entries ?? [];
    expect(big?.text?.length).toBe(LIMITS.recordTextBytes + 1);
    expect(big?.attachments).toHaveLength(100);
  });
});

describe('releasing a message', () => {
  test('adds it to a thread, and records message.received with its id and reason', async () => {
    const webhookId = await rows.webhook(reader);
    const id = await held();
    expect(await threads()).toEqual([]);
    expect(await messages.release(reader, id, ACTOR)).toBe('released');
    const message = await messages.find(reader, id);
    expect(message).toMatchObject({ status: 'released', heldReason: 'spam', releasedAt: expect.any(Date) });
    const threadId = message?.threadId;
    expect(await threads()).toMatchObject([{ id: threadId, inbox_id: inboxId, subject: 'Hi' }]);
    const [before, after] = await events();
    expect(before).toMatchObject({ type: 'message.held', data: { id, status: 'held', thread_id: null } });
    expect(after).toEqual({
      type: 'message.received',
      data: { ...before?.data, status: 'released', thread_id: threadId },
    });
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhookId], mail: false });
    expect(await messages.release(reader, id, ACTOR)).toBe('not-held');
    expect(await messages.release(reader, await received(), ACTOR)).toBe('not-held');
    expect(await messages.release(reader, newId('message', store.clock), ACTOR)).toBe('missing');
    expect(await events()).toHaveLength(3);
  });

  test('counts it in its inbox, which did not count it before', async () => {
    const inboxes = createInboxStore(store.db, store.clock, {
      sharedDomains: [],
      reservedNames: [],
      perAccountMax: 9,
    });
    const mailOf = async () => {
      const { unread, lastReceived } = (await inboxes.find(reader, inboxId)) ?? {};
      return { unread, lastReceived };
    };
    const id = await held();
    expect(await mailOf()).toEqual({ unread: 0, lastReceived: null });
    await messages.release(reader, id, ACTOR);
    const { receivedAt } = (await messages.find(reader, id)) ?? {};
    expect(await mailOf()).toEqual({ unread: 1, lastReceived: receivedAt });
  });

  test.each([
    ['what it answers', { messageId: 'first@x' }, { inReplyTo: 'first@x' }],
    ['what it refers to', { messageId: 'first@x' }, { references: ['first@x', 'lost@x'] }],
    ['its own answer, which came before', { inReplyTo: 'second@x' }, { messageId: 'second@x' }],
  ])('joins the thread of %s', async (_, first, second) => {
    const thread = await threadOf(await received(first));
    const id = await held(second);
    await messages.release(reader, id, ACTOR);
    expect(await threadOf(id)).toBe(thread);
    const { receivedAt } = (await messages.find(reader, id)) ?? {};
    expect(await threads()).toMatchObject([{ id: thread, last_at: receivedAt }]);
  });

  test('lets its replies join its thread only after the release', async () => {
    const id = await held({ messageId: 'held@x' });
    const early = await received({ inReplyTo: 'held@x' });
    await messages.release(reader, id, ACTOR);
    const late = await received({ references: ['held@x'] });
    expect(new Set([await threadOf(id), await threadOf(early), await threadOf(late)]).size).toBe(1);
    expect(await threads()).toHaveLength(1);
  });

  test('without an inbox only records the event', async () => {
    const id = await heldWithoutInbox();
    expect(await messages.release(reader, id, ACTOR)).toBe('released');
    expect(await threads()).toEqual([]);
    expect((await events()).at(-1)).toMatchObject({
      type: 'message.received',
      data: { id, status: 'released', thread_id: null, inbox_id: null },
    });
  });

  test('in a test inbox records no event', async () => {
    const testing = { ...reader, kind: 'test' as const };
    await inbox('t', testing);
    const id = await held({ recipients: [`t@${SHARED_DOMAIN}`] });
    expect(await messages.release(testing, id, ACTOR)).toBe('released');
    expect((await messages.find(testing, id))?.threadId).toMatch(/^thr_/);
    expect(await events()).toEqual([]);
  });

  test.each([
    ['with an inbox', () => held()],
    ['without one', heldWithoutInbox],
  ])('by eight at once happens once: %s', async (_, make) => {
    const id = await make();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => messages.release(reader, id, ACTOR)));
    expect(outcomes.sort()).toEqual([...Array<string>(7).fill('not-held'), 'released']);
    expect((await events()).map(({ type }) => type)).toEqual(['message.held', 'message.received']);
    expect((await threads()).length).toBeLessThanOrEqual(1);
  });

  test('and its reply at the same time makes one thread', async () => {
    const first = await held({ messageId: 'one@x' });
    const second = await held({ inReplyTo: 'one@x' });
    await Promise.all([messages.release(reader, second, ACTOR), messages.release(reader, first, ACTOR)]);
    expect(await threads()).toHaveLength(1);
    expect(await threadOf(first)).toBe(await threadOf(second));
  });

  test('rolls back when the event cannot be written', async () => {
    const id = await held();
    await store.outside.query('update messages set size = -1'); // no event can say that
    await expect(messages.release(reader, id, ACTOR)).rejects.toThrow();
    expect(await messages.find(reader, id)).toMatchObject({ status: 'held', threadId: null });
    expect(await threads()).toEqual([]);
  });

  test('finds it missing while its inbox is being deleted', async () => {
    const id = await held();
    await store.outside.query('begin');
    await store.outside.query('delete from inboxes');
    const releasing = messages.release(reader, id, ACTOR);
    await untilWaitingForLock(store.outside);
    await store.outside.query('commit');
    expect(await releasing).toBe('missing');
    expect((await events()).map(({ type }) => type)).toEqual(['message.held']);
  });
});
