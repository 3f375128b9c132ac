import type { Pool } from 'pg';
import { byStatement, dropPages, forRetention, lacksMessages, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { lockInboxesOf } from './empty-threads.ts';

/**
 * Text and HTML of 10 MiB may take 20 MiB as UTF-8, which Postgres keeps in pieces of 2 KiB. So 5 messages
 * may be 50,000 rows to delete.
 */
export const RECEIVED_PER_STEP = 5;
const THREADS_PER_STEP = 100;

/**
 * Deletes received messages that are older than `days`, held messages included. Skips locked rows. The blob
 * sweep deletes the bytes of the deleted messages. @returns how many.
 */
export async function dropReceivedMail(pool: Pool, days: number): Promise<number> {
  const which = { table: 'messages', age: forRetention('created_at'), rows: RECEIVED_PER_STEP };
  return dropPages(pool, which, days, byStatement(DELETE_MESSAGES));
}

const DELETE_MESSAGES = `
  with mine as materialized (
    select id from messages where id = any ($1::text[]) order by id for update skip locked
  )
  delete from messages where id = any (array(select id from mine))`;

/**
 * Deletes mail threads that have neither received nor sent anything for `days`, with their rows in
 * `inbox_sends`. The sent mail itself stays. A thread that still has a message stays, too. @returns how many.
 */
export async function dropOldThreads(pool: Pool, days: number): Promise<number> {
  return dropPages(pool, THREADS, days, async (client, ids) => {
    const inboxIds = await lockInboxesOf(client, ids);
    const { rows } = await client.query<{ id: string }>(OLD_THREADS, [ids, inboxIds, days]);
    const old = rows.map(({ id }) => id);
    const sends = await client.query(DELETE_SENDS, [old]);
    if (sends.rowCount === ROWS_PER_STEP) return null; // the next step reads these threads again
    const { rowCount } = await client.query('delete from inbox_threads where id = any ($1::text[])', [old]);
    return rowCount ?? 0;
  });
}

const THREADS = {
  table: 'inbox_threads',
  age: forRetention('last_at'),
  mayGo: lacksMessages('page.id'), // `dropPages` calls its rows `page`
  rows: THREADS_PER_STEP,
};

/** Checks the conditions of the page again, under the locks. */
const OLD_THREADS = `
  select t.id from inbox_threads t
  where t.id = any ($1::text[]) and t.inbox_id = any ($2::text[]) and t.last_at < now() - make_interval(days => $3)
    and ${lacksMessages('t.id')}`;

const DELETE_SENDS = `
  delete from inbox_sends where email_id = any (array(
    select email_id from inbox_sends where thread_id = any ($1::text[]) limit ${ROWS_PER_STEP}))`;
