import { expect, test } from '@jest/globals';
import type { InboxId } from '@postrider/domain';
import { createRows, systemClock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createThreadStore } from './threads.ts';

/* Postgres last counted one attachment, and messages that were all of one thread. */

const COUNTED = 2_000;
const SINCE = 5_000;

const store = setupStore();

/** Adds messages to one inbox. The first share one thread; each later message has its own. */
async function fill(inboxId: string, from: number, to: number): Promise<void> {
  await store.outside.query(
    `insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
     select 'msg_' || n, i.account_id, 'live', i.id, 'thr_' || greatest(n, $4::int), 'received', now(), '', 'b', 1, 'a@a.example',
       '{}', '{}', '{}', '{}', '[]', 'none', 'none', 'none', false
     from inboxes i, generate_series($2::int, $3::int) n where i.id = $1`,
    [inboxId, from, to, COUNTED],
  );
}

async function attach(from: number, to: number): Promise<void> {
  await store.outside.query(
    `insert into message_attachments (id, message_id, position, content_type, size, blob)
     select 'att_' || n, 'msg_' || n, 0, 'text/plain', 1, 'b' from generate_series($1::int, $2::int) n`,
    [from, to],
  );
}

/** The number of entries read so far from the indexes of attachments. */
async function attachmentsRead(): Promise<number> {
  await store.db.pool.query('select pg_stat_force_next_flush()');
  const [read] = await store.outside.query<{ n: number }>(
    `select sum(idx_tup_read)::int as n from pg_stat_user_indexes where relname = 'message_attachments'`,
  );
  return read?.n ?? NaN;
}

test('hasAttachment of a thread is found without reading the attachments of others', async () => {
  const { outside } = store;
  for (const table of ['messages', 'message_attachments', 'inbox_threads'])
    await outside.query(`alter table ${table} set (autovacuum_enabled = false)`);
  const accountId = await store.newAccount();
  for (const id of ['ibx_1', 'ibx_2']) await createRows(outside).inbox({ id, accountId });
  await outside.query(
    `insert into inbox_threads select 'thr_' || n, case n when $1::int then 'ibx_1' else 'ibx_2' end, null, now(), now()
     from generate_series($1::int, $2::int) n`,
    [COUNTED, COUNTED + SINCE],
  );
  await fill('ibx_1', 1, COUNTED);
  await attach(999, 999); // behind all others in their index
  await outside.query('analyze');
  await fill('ibx_2', COUNTED + 1, COUNTED + SINCE);
  await attach(COUNTED + 1, COUNTED + SINCE);
  await outside.query('select pg_stat_force_next_flush()');

  const before = await attachmentsRead();
  const page = await createThreadStore(store.db, systemClock).list('ibx_1' as InboxId, null, {
    limit: 20,
    cursor: null,
  });
  expect(page?.entries.map(({ hasAttachment }) => hasAttachment)).toEqual([true]);
  expect((await attachmentsRead()) - before).toBeLessThan(20);
});
