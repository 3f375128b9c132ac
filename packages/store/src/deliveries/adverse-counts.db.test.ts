import { beforeAll, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import type { AccountId, InboxId, KeyKind, WebhookId } from '@postrider/domain';
import { createRows, systemClock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import type { PageRequest } from '../db/page.ts';
import { createMessageStore } from '../inbound/messages.ts';
import { createThreadStore } from '../inbound/threads.ts';
import { createEmailStore } from '../mail/emails.ts';
import { createAttemptStore } from './attempts.ts';
import { createDeadLetterStore } from './dead-letters.ts';

/* Lists of an account that held nearly all rows when Postgres last counted them. Since then others got many more. */

const COUNTED = 10_000;
const SINCE = 20_000;
const LIMIT = 20;
/** What a page may read, with what belongs to its entries. */
const READ_MAX = 1_000;

/** Whose rows they are. */
interface Owner {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly inboxId: InboxId;
}

const store = setupStore();
let first: Owner;

async function owner(name: string): Promise<Owner> {
  const rows = createRows(store.outside);
  const accountId = await store.newAccount();
  const inboxId = await rows.inbox({ id: `ibx_${name}`, accountId });
  return { accountId, webhookId: await rows.webhook({ accountId }), inboxId };
}

/** Mail of a test key, older than all that is live. */
async function fillTestMail({ accountId }: Owner): Promise<void> {
  await store.outside.query(
    `insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
       reply_to_addresses, subject, text, headers, last_event, created_at)
     select 'em_t' || n, $1, 'test', 'stored', 'a@a.example', '{}', '{}', '{}', '{}', 'Hi', 'Hello', '{}', 'stored',
            timestamptz '2025-12-01Z' + make_interval(secs => n)
     from generate_series(1, $2::int) n`,
    [accountId, 3 * LIMIT],
  );
}

/** Rows of each table, a second apart. */
async function fill({ accountId, webhookId, inboxId }: Owner, from: number, to: number): Promise<void> {
  const { outside } = store;
  const at = `timestamptz '2026-01-01Z' + make_interval(secs => n)`;
  const series = `generate_series($1::int, $2::int) n`;
  await outside.query(`insert into inbox_threads select n, $3, null, ${at}, ${at} from ${series}`, [
    from,
    to,
    inboxId,
  ]);
  await outside.query(
    `insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic, read)
     select 'msg_' || n, $3, 'live', $4, n, 'received', ${at}, sha256(n::text::bytea), 'b', 1, 'a@a.example', '{}', '{}', '{}',
       '{}', '[]', 'none', 'none', 'none', false, true
     from ${series}`,
    [from, to, accountId, inboxId],
  );
  await outside.query(
    `insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
       reply_to_addresses, subject, text, headers, last_event, created_at)
     select 'em_' || n, $3, 'live', 'sent', 'a@a.example', '{}', '{}', '{}', '{}', 'Hi', 'Hello', '{}', 'sent', ${at}
     from ${series}`,
    [from, to, accountId],
  );
  await outside.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
       last_error, created_at)
     select 'dl_' || n, $3, $4, 'evt_1', 'email.sent', now(), '{}', 8, 'rejected', 'x', ${at} from ${series}`,
    [from, to, accountId, webhookId],
  );
  await outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     select ${at}, n, 'evt_1', $3, 1, 5 from ${series}`,
    [from, to, webhookId],
  );
}

const TABLES = ['messages', 'inbox_threads', 'emails', 'dead_letters', 'attempts_default'];

beforeAll(async () => {
  for (const table of TABLES)
    await store.outside.query(`alter table ${table} set (autovacuum_enabled = false)`);
  first = await owner('1');
  const second = await owner('2');
  await fill(first, 1, COUNTED);
  await fill(second, COUNTED + 1, COUNTED + 1);
  await store.outside.query('analyze');
  await fill(second, COUNTED + 2, COUNTED + SINCE);
  await fillTestMail(first);
  await store.outside.query('select pg_stat_force_next_flush()'); // what this has read
});

const FIRST_PAGE = { limit: LIMIT, cursor: null };
/** In the middle of what was counted. */
const page = (side: 'after' | 'before', id: string) => ({
  limit: LIMIT,
  cursor: { side, id: id as never },
});

const messages = (of: 'account' | 'inbox', request: PageRequest<'message'> = FIRST_PAGE) =>
  createMessageStore(store.db, store.clock).list(
    { accountId: first.accountId, kind: 'live' },
    { status: null, inboxId: of === 'inbox' ? first.inboxId : null },
    request,
  );
const emails = (kind: KeyKind, request: PageRequest<'email'> = FIRST_PAGE) =>
  createEmailStore(store.db, store.clock).list({ accountId: first.accountId, kind }, request);
const letters = (filter: { webhookId?: WebhookId }) =>
  createDeadLetterStore(store.db).list(first.accountId, filter);

const LISTS: [string, () => Promise<unknown>][] = [
  ['messages of an account', () => messages('account')],
  ['messages of an account after one', () => messages('account', page('after', 'msg_5000'))],
  ['messages of an account before one', () => messages('account', page('before', 'msg_5000'))],
  ['messages of an inbox', () => messages('inbox')],
  ['messages of an inbox after one', () => messages('inbox', page('after', 'msg_5000'))],
  ['messages of an inbox before one', () => messages('inbox', page('before', 'msg_5000'))],
  [
    'threads of an inbox',
    () => createThreadStore(store.db, systemClock).list(first.inboxId, null, FIRST_PAGE),
  ],
  ['emails', () => emails('live')],
  ['emails after one', () => emails('live', page('after', 'em_5000'))],
  ['emails before one', () => emails('live', page('before', 'em_5000'))],
  ['emails of test keys', () => emails('test')],
  ['emails of test keys after one', () => emails('test', page('after', 'em_t30'))],
  ['emails of test keys before one', () => emails('test', page('before', 'em_t30'))],
  ['dead letters of an account', () => letters({})],
  ['dead letters of a webhook', () => letters({ webhookId: first.webhookId })],
  [
    'attempts',
    () => createAttemptStore(store.db).list(first.accountId, { webhookId: first.webhookId, limit: LIMIT }),
  ],
];

/** Rows and entries of indexes that were read so far, by whatever way. */
test.each(LISTS)('a list of %s reads no rows but its own', async (_, list) => {
  const before = await rowsRead(store.db.pool);
  await list();
  const read = (await rowsRead(store.db.pool)) - before;
  expect(read).toBeGreaterThanOrEqual(LIMIT);
  expect(read).toBeLessThan(READ_MAX);
});

test('a search in an inbox reads the messages that it looks at, and no others', async () => {
  const before = await rowsRead(store.db.pool);
  const found = await createThreadStore(store.db, store.clock).search(
    first.inboxId,
    { query: 'no such word' },
    FIRST_PAGE,
  );
  expect(found).toEqual({ entries: [], hasMore: false });
  const read = (await rowsRead(store.db.pool)) - before;
  expect(read).toBeGreaterThanOrEqual(LIMITS.searchedMessages);
  expect(read).toBeLessThan(4 * LIMITS.searchedMessages); // a row and an entry of the index each, twice
});
