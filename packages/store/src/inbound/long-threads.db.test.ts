import { beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { InboxId, MessageId, ThreadId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { hookedPool } from '../../test/hooked-pool.ts';
import { incoming } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import type { Database } from '../db/database.ts';
import { removeInboxes } from '../retention/remove-inboxes.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import { createThreadStore } from './threads.ts';

/* A thread of many messages. */

const MESSAGES = 1_200;
const STEP = 500;
const STEPS = 3;

const store = setupStore();
let inbox: InboxId;
let thread: ThreadId;

beforeEach(async () => {
  const rows = createRows(store.outside);
  await rows.clear();
  inbox = await rows.inbox();
  thread = newId('thread', store.clock);
  await store.outside.query(`insert into inbox_threads values ($1, $2, 'Hi', now(), now())`, [thread, inbox]);
  await addMessages(MESSAGES);
});

async function addMessages(count: number): Promise<void> {
  await store.outside.query(
    `insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
     select $1 || gen_random_uuid(), i.account_id, 'live', i.id, $1, 'received', now() - make_interval(secs => n / 10), '', 'b', 1, 'a@a.example',
       '{}', '{}', '{}', '{}', '[]', 'none', 'none', 'none', false
     from inboxes i, generate_series(1, $3::int) n where i.id = $2`,
    [thread, inbox, count],
  );
}

const threads = (db = store.db) => createThreadStore(db, store.clock);

/** How many messages each of the last transactions has marked, the largest number first. */
async function marked(read: boolean): Promise<number[]> {
  const rows = await store.outside.query<{ count: number }>(
    'select count(*)::int from messages where thread_id = $1 and read = $2 group by xmin::text order by 1 desc',
    [thread, read],
  );
  return rows.map(({ count }) => count);
}

test('is marked whole, in transactions of 500 messages', async () => {
  await threads().mark(inbox, thread, true);
  expect(await marked(true)).toEqual([STEP, STEP, MESSAGES - 2 * STEP]);
  await threads().mark(inbox, thread, false);
  expect(await marked(false)).toEqual([STEP, STEP, MESSAGES - 2 * STEP]);
  expect(await marked(true)).toEqual([]);
});

test('that another call marks otherwise meanwhile is marked once by each', async () => {
  let steps = 0;
  const query = async (asked: { text: string; values: unknown[] }) => {
    const result = await store.db.pool.query(asked);
    steps += 1;
    if (steps === 1) await threads().mark(inbox, thread, false);
    return result;
  };
  await threads({ ...store.db, pool: { query } as unknown as Database['pool'] }).mark(inbox, thread, true);
  expect(steps).toBe(3);
  const counts = await store.outside.query(
    'select read, count(*)::int from messages where thread_id = $1 group by read order by read',
    [thread],
  );
  expect(counts).toEqual([
    { read: false, count: STEP },
    { read: true, count: MESSAGES - STEP },
  ]);
});

test('is found without its messages, read or unread', async () => {
  for (const read of [false, true]) {
    await threads().mark(inbox, thread, read);
    const seen: ExplainedStatement[] = [];
    const query = async ({ text, values }: { text: string; values: unknown[] }) =>
      explainedPool(store.db.pool, seen).query(text, values);
    const found = await threads({ ...store.db, pool: { query } as unknown as Database['pool'] }).find(
      inbox,
      thread,
    );
    expect(found).toMatchObject({ id: thread, subject: 'Hi', read });
    expect(Math.max(...seen.map(({ rowsMax }) => rowsMax))).toBeLessThanOrEqual(1);
  }
});

test('is shown from its last messages on without those before', async () => {
  const ids = await store.outside.query<{ id: MessageId }>(
    'select id from messages where thread_id = $1 order by created_at, id limit 6',
    [thread],
  );
  const [cursor = '', ...older] = ids.map(({ id }) => id).reverse();
  const before = await rowsRead(store.db.pool);
  const page = await threads().emails(thread, { limit: 5, cursor: { side: 'after', id: cursor } });
  expect((await rowsRead(store.db.pool)) - before).toBeLessThan(MESSAGES / 10);
  expect(page?.entries.map(({ id }) => id)).toEqual(older);
});

test('is left out of a search for unread threads without a look at its messages', async () => {
  await threads().mark(inbox, thread, true);
  await store.outside.query('vacuum messages'); // removes the entries of unread messages
  const [newest] = await store.outside.query<{ at: Date }>('select max(created_at) as at from messages');
  const search = { read: false, since: newest?.at };
  const before = await rowsRead(store.db.pool);
  const page = await threads().search(inbox, search, { limit: 5, cursor: null });
  expect((await rowsRead(store.db.pool)) - before).toBeLessThan(MESSAGES / 10);
  expect(page?.entries).toEqual([]);
});

test('of more than 10,000 messages is marked and deleted by two calls', async () => {
  await addMessages(9_000);
  expect(await threads().mark(inbox, thread, true)).toBe(false);
  expect(await threads().mark(inbox, thread, true)).toBe(true);
  expect(await marked(false)).toEqual([]);
  expect(await threads().remove(inbox, thread)).toBe('unfinished');
  expect(await threads().remove(inbox, thread)).toBe('removed');
});

test('is deleted whole, also when a relay deletes the rows of earlier steps before the last one commits', async () => {
  const { pool } = store.db;
  let commits = 0;
  const steps: [RegExp, () => Promise<unknown>][] = Array.from({ length: STEPS + 1 }, () => [
    /^commit/,
    async () => {
      commits += 1;
      if (commits === STEPS) await removeInboxes(pool);
    },
  ]);
  const hooked = hookedPool(pool, ...steps);
  expect(await threads({ ...store.db, pool: hooked }).remove(inbox, thread)).toBe('removed');
  expect(commits).toBe(STEPS);
  await removeInboxes(pool);
  expect(await store.outside.query('select from messages')).toHaveLength(0);
});

test('leaves out the messages of each step of its deletion at once', async () => {
  const seen: [listed: number | undefined, shown: number][] = [];
  const look = async () => {
    const [listed] = (await threads().list(inbox, null, { limit: 1, cursor: null }))?.entries ?? [];
    const page = await threads().emails(thread, { limit: MESSAGES, cursor: null });
    seen.push([listed?.emailCount, page?.entries.length ?? 0]);
  };
  const steps: [RegExp, () => Promise<unknown>][] = [1, 2, 3].map(() => [/^begin/, look]);
  const pool = hookedPool(store.db.pool, ...steps);
  expect(await threads({ ...store.db, pool }).remove(inbox, thread)).toBe('removed');
  const left = [MESSAGES, MESSAGES - STEP, MESSAGES - 2 * STEP];
  expect(seen).toEqual(left.map((messages) => [messages, messages]));
});

test('that gets an answer while it is deleted leaves the answer, in a new thread', async () => {
  await store.outside.query(`update messages set message_id = 'm@x'`);
  const intake = createReceivedMessageStore(store.db, store.clock, ['a.example']);
  const answer = async () =>
    intake.receive(incoming({ recipients: [`${inbox}@a.example`], inReplyTo: 'm@x', subject: 'Re: Hi' }));
  const steps: [RegExp, () => Promise<unknown>][] = [1, 2].map(() => [/^begin/, answer]);
  const pool = hookedPool(store.db.pool, [/^begin/, async () => undefined], ...steps);
  expect(await threads({ ...store.db, pool }).remove(inbox, thread)).toBe('removed');
  await removeInboxes(store.db.pool);
  const left = await store.outside.query<{ thread_id: ThreadId; created_at: Date }>(
    'select thread_id, created_at from messages order by created_at desc',
  );
  expect(left).toHaveLength(2);
  expect(await threads().find(inbox, thread)).toBeNull();
  const { entries } = (await threads().list(inbox, null, { limit: 9, cursor: null })) ?? {};
  expect(entries).toMatchObject([
    { id: left[0]?.thread_id, subject: 'Re: Hi', emailCount: 2, lastAt: left[0]?.created_at, read: false },
  ]);
});
