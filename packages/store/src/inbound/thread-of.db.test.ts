import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { incoming, SHARED_DOMAIN as SHARED } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { IncomingMessage, ReceivedMessageStore } from './received-message-store.ts';

const store = setupStore();
let rows: Rows;
let intake: ReceivedMessageStore;

beforeAll(async () => {
  rows = createRows(store.outside);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED]);
});
beforeEach(async () => {
  await rows.clear();
  const accountId = await store.newAccount();
  for (const local of ['a', 'b']) {
    await rows.inbox({ id: `ibx_${local}`, accountId, address: `${local}@${SHARED}` });
  }
});

async function received(message: IncomingMessage): Promise<string> {
  const reception = await intake.receive(message);
  const [stored] = reception.kind === 'stored' ? reception.messages : [];
  if (stored === undefined) throw new Error('nothing was stored');
  return stored.id;
}

async function threadOf(id: string): Promise<string | null> {
  const [row] = await store.outside.query<{ thread_id: string }>(
    'select thread_id from messages where id = $1',
    [id],
  );
  return row?.thread_id ?? null;
}

describe('a thread', () => {
  test('is found by In-Reply-To, else by the last reference that the inbox knows', async () => {
    const [first, second] = [incoming({ messageId: '1@x' }), incoming({ messageId: '2@x' })];
    const threads = [await threadOf(await received(first)), await threadOf(await received(second))];
    expect(threads[0]).not.toBe(threads[1]);
    const replies = [
      incoming({ inReplyTo: '1@x', references: ['2@x'] }),
      incoming({ inReplyTo: 'unknown@x', references: ['1@x', '2@x', '3@x'] }),
      incoming({ references: ['2@x', '1@x'] }),
    ];
    const joined: (string | null)[] = [];
    for (const reply of replies) joined.push(await threadOf(await received(reply)));
    expect(joined).toEqual([threads[0], threads[1], threads[0]]);
  });

  test('is never found by the subject, nor across inboxes', async () => {
    const first = await threadOf(await received(incoming({ messageId: '1@x' })));
    expect(await threadOf(await received(incoming()))).not.toBe(first);
    const other = incoming({ recipients: [`b@${SHARED}`], inReplyTo: '1@x' });
    expect(await threadOf(await received(other))).not.toBe(first);
  });

  test('is not shared by two replies to an unknown message, unless one names the other', async () => {
    const [one, two] = [
      await threadOf(await received(incoming({ messageId: '1@x', inReplyTo: '0@x', references: ['0@x'] }))),
      await threadOf(await received(incoming({ messageId: '2@x', inReplyTo: '0@x', references: ['0@x'] }))),
    ];
    expect(two).not.toBe(one);
    const third = incoming({ inReplyTo: '0@x', references: ['0@x', '1@x'] });
    expect(await threadOf(await received(third))).toBe(one);
    const parent = incoming({ messageId: '0@x' });
    expect([one, two]).toContain(await threadOf(await received(parent))); // late, and it moves no thread
    expect(await store.outside.query('select from inbox_threads')).toHaveLength(2);
  });

  /** Receives messages into threads of their own. The last one is the oldest. @returns their threads. */
  async function eachOlder(...messages: readonly IncomingMessage[]): Promise<(string | null)[]> {
    const threads = [];
    for (const [index, message] of messages.entries()) {
      const id = await received(message);
      threads.push(await threadOf(id));
      await store.outside.query(
        'update messages set created_at = created_at - make_interval(hours => $2) where id = $1',
        [id, index],
      );
    }
    return threads;
  }

  test('is that of the oldest message with an id: received, or sent', async () => {
    const twin = () => incoming({ messageId: 'twin@x' });
    const threads = await eachOlder(twin(), twin(), twin());
    expect(new Set(threads).size).toBe(3);
    const answer = () => incoming({ inReplyTo: 'twin@x' });
    expect(await threadOf(await received(answer()))).toBe(threads[2]);
    const emailId = await rows.email();
    const thread = await threadOf(await received(incoming()));
    await store.outside.query(
      `insert into inbox_sends select $1, inbox_id, $2, now() - interval '3 hours' from messages limit 1`,
      [emailId, thread],
    );
    await store.outside.query(`update messages set message_id = $1 where message_id = 'twin@x'`, [
      `${emailId}@in.example`,
    ]);
    expect(await threadOf(await received(incoming({ inReplyTo: `${emailId}@in.example` })))).toBe(thread);
  });

  test('of a late message is that of its oldest answer', async () => {
    const answer = () => incoming({ inReplyTo: 'late@x' });
    const threads = await eachOlder(answer(), answer(), answer());
    expect(await threadOf(await received(incoming({ messageId: 'late@x' })))).toBe(threads[2]);
  });

  test('is one for a message and its reply that arrive at once, in either order', async () => {
    for (let pair = 0; pair < 10; pair += 1) {
      const first = incoming({ messageId: `${pair}@x` });
      const answer = incoming({ inReplyTo: `${pair}@x`, references: [`${pair}@x`] });
      await Promise.all(
        (pair % 2 === 0 ? [first, answer] : [answer, first]).map((each) => intake.receive(each)),
      );
    }
    const stored = await store.outside.query<{ thread_id: string }>('select thread_id from messages');
    const threads = stored.map(({ thread_id: thread }) => thread);
    expect({ messages: threads.length, threads: new Set(threads).size }).toEqual({
      messages: 20,
      threads: 10,
    });
  });

  test.each([
    ['our Message-ID', (id: string) => `${id}@in.example`],
    ['the id of SES in us-east-1', () => 'ses-1@email.amazonses.com'],
    ['the id of SES elsewhere', () => 'ses-1@eu-central-1.amazonses.com'],
  ])('is joined by an answer to what the inbox itself sent: %s', async (_, messageId) => {
    const first = await received(incoming());
    const thread = await threadOf(first);
    const emailId = await rows.email();
    await store.outside.query(`update emails set provider_message_id = 'ses-1' where id = $1`, [emailId]);
    await store.outside.query(
      `insert into inbox_sends select $1, inbox_id, thread_id, now() from messages where id = $2`,
      [emailId, first],
    );
    expect(await threadOf(await received(incoming({ inReplyTo: messageId(emailId) })))).toBe(thread);
    const other = incoming({ recipients: [`b@${SHARED}`], inReplyTo: messageId(emailId) });
    expect(await threadOf(await received(other))).not.toBe(thread);
    const stranger = incoming({ inReplyTo: 'ses-1@attacker.example' });
    expect(await threadOf(await received(stranger))).not.toBe(thread);
  });
});
