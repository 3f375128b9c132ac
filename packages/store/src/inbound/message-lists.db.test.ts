import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AccountId, InboxId, MessageId } from '@postrider/domain';
import { createRows, runs, systemClock } from '@postrider/testing';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import type { Database } from '../db/database.ts';
import { createInboxStore } from './inboxes.ts';
import { createMessageStore } from './messages.ts';
import type { MessageFilter } from './messages.ts';
import { findThread, markThread } from './sql/threads.ts';
import { createThreadStore } from './threads.ts';

/* Lists of an account that has very many messages of one status and few of another. */

const MANY = runs({ usual: 20_000, long: 100_000 });
const FEW = 30;
const THREADS = runs({ usual: 5_000, long: 20_000 });
const LIMIT = 20;
/**
 * Two statuses, and one more entry than the page shows. Each row is read twice: in the scan, and by its id.
 */
const ROWS_MAX = 4 * (LIMIT + 1);
/** The pages of an empty index scan: the depth of the index. */
const PAGES_MAX = 10;

const [INBOX, ALL_READ, ALL_UNREAD] = ['ibx_1', 'ibx_2', 'ibx_3'] as [InboxId, InboxId, InboxId];

const store = setupStore();
let seen: ExplainedStatement[];
let db: Database;
const reader = { accountId: '' as AccountId, kind: 'live' as const };

/** Adds messages, the oldest first: a few of the status, or `MANY`. */
async function fill(prefix: string, status: string, count: number): Promise<void> {
  await store.outside.query(
    `insert into messages (id, account_id, kind, inbox_id, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic, read)
     select $1 || lpad(n::text, 7, '0'), $2, 'live', $3, $4::message_status, now() - interval '20 days' + make_interval(secs => n),
            sha256(n::text::bytea), 'b', 1, 'a@a.example', '{}', '{}', '{}', '{}', '[]', 'none', 'none', 'none', false, true
     from generate_series(1, $5::int) n`,
    [prefix, reader.accountId, INBOX, status, count],
  );
}

/** The maximum of one step. */
function rowsRead(): number {
  if (seen.length === 0) throw new Error('no statement was explained');
  return Math.max(...seen.map(({ rowsMax }) => rowsMax));
}

/** Adds threads to a new inbox, with one message each. All messages have one Message-ID. */
async function threads(inbox: InboxId, read: boolean): Promise<void> {
  await createRows(store.outside).inbox({ id: inbox });
  await store.outside.query(
    `with made as (
       insert into inbox_threads select $1 || n, $1, null, now(), now() from generate_series(1, $2::int) n returning id
     )
     insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic, read, message_id, in_reply_to)
     select m.id, i.account_id, 'live', i.id, m.id, 'received', now(), '', 'b', 1, 'a@a.example', '{}', '{}', '{}', '{}', '[]',
            'none', 'none', 'none', false, $3, 'same@x', 'same@x'
     from made m join inboxes i on i.id = $1`,
    [inbox, THREADS, read],
  );
}

beforeAll(async () => {
  // The test runs ANALYZE itself. Autovacuum must not run it while the tables are filled.
  for (const table of ['messages', 'inbox_threads', 'inboxes'])
    await store.outside.query(`alter table ${table} set (autovacuum_enabled = false)`);
  const accountId = await store.newAccount();
  Object.assign(reader, { accountId });
  await createRows(store.outside).inbox({ id: INBOX, accountId, address: 'a@a.example' });
  const query = async ({ text, values }: { text: string; values: unknown[] }) =>
    explainedPool(store.db.pool, seen).query(text, values);
  db = { ...store.db, pool: { query } as unknown as Database['pool'] };
  await fill('msg_b', 'received', FEW);
  await fill('msg_r', 'released', FEW);
  await fill('msg_a', 'held', MANY);
  await threads(ALL_READ, true);
  await threads(ALL_UNREAD, false);
  await fill('msg_c', 'received', MANY); // newer than the few that were released
});

const FILTERS: readonly [string, MessageFilter][] = (['account', 'inbox'] as const).flatMap((of) =>
  ([null, 'held', 'received', 'released'] as const).map((status): [string, MessageFilter] => [
    `${status ?? 'not held'}, of an ${of}`,
    { status, inboxId: of === 'inbox' ? INBOX : null },
  ]),
);

describe.each(['not analyzed yet', 'analyzed'])(
  'a list of messages, with tables that Postgres has %s',
  (when) => {
    beforeAll(async () => {
      if (when === 'analyzed') await store.outside.query('analyze');
    });

    test.each(FILTERS)('with filter %s is an index scan, wherever the page begins', async (_, filter) => {
      seen = [];
      const messages = createMessageStore(db, store.clock);
      const page = async (side: 'after' | 'before', id: string) =>
        messages.list(reader, filter, { limit: LIMIT, cursor: { side, id: id as MessageId } });
      const first = await messages.list(reader, filter, { limit: LIMIT, cursor: null });
      expect(first?.entries).toHaveLength(LIMIT);
      const middle = `msg_a${String(MANY / 2).padStart(7, '0')}`;
      await page('after', middle);
      await page('before', middle);
      expect(rowsRead()).toBeLessThanOrEqual(ROWS_MAX);
      expect(seen.flatMap(({ readWhole }) => readWhole)).toEqual([]);
    });

    test('of unread threads reads no read message and no message of another inbox', async () => {
      seen = [];
      const list = await createThreadStore(db, systemClock).list(ALL_READ, false, {
        limit: LIMIT,
        cursor: null,
      });
      expect(list?.entries).toEqual([]);
      const pages = seen.flatMap(({ pagesBy }) =>
        Object.entries(pagesBy).flatMap(([index, count]) => (index.startsWith('messages_') ? count : [])),
      );
      expect(pages).not.toEqual([]);
      expect(Math.max(...pages)).toBeLessThanOrEqual(PAGES_MAX);
      expect(seen.flatMap(({ readWhole }) => readWhole)).not.toContain('messages');
    });

    test.each([
      ['with the Message-ID that a message answers', ['same@x'], null],
      ['that answer one message', [], 'same@x'],
    ])('finds the oldest of many messages %s in one index scan', async (_, answered, own) => {
      seen = [];
      const values = [ALL_READ, answered, own];
      const { rows } = await explainedPool(store.db.pool, seen).query(findThread.text, values);
      expect(rows).toEqual([{ threadId: `${ALL_READ}1` }]);
      expect(rowsRead()).toBeLessThanOrEqual(ROWS_MAX);
      expect(seen.flatMap(({ readWhole }) => readWhole)).toEqual([]);
    });

    test('and the time of an inbox’s last message reads few rows, however many the inbox has', async () => {
      seen = [];
      const inboxes = createInboxStore(db, store.clock, {
        sharedDomains: [],
        reservedNames: [],
        perAccountMax: 9,
      });
      const inbox = await inboxes.find(reader, 'a@a.example');
      expect(inbox?.unread).toBe(0);
      expect(inbox?.lastReceived).not.toBeNull();
      expect(rowsRead()).toBeLessThanOrEqual(ROWS_MAX);
    });
  },
);

test('marking a thread looks up no message that has the mark already', async () => {
  await store.outside.query(`insert into inbox_threads values ('thr_read', $1, null, now(), now())`, [INBOX]);
  await store.outside.query(`update messages set thread_id = 'thr_read' where starts_with(id, 'msg_b')`);
  const pagesOf = async (read: boolean) => {
    seen = [];
    const values = [INBOX, 'thr_read', read, '-infinity', '', FEW];
    const { rows } = await explainedPool(store.db.pool, seen).query(markThread.text, values);
    expect(rows).toHaveLength(read ? 0 : 1);
    return seen.flatMap(({ pagesBy }) => pagesBy['messages_pkey'] ?? []);
  };
  expect(Math.max(0, ...(await pagesOf(true)))).toBeLessThanOrEqual(PAGES_MAX);
  expect(Math.max(...(await pagesOf(false)))).toBeGreaterThan(PAGES_MAX);
});
