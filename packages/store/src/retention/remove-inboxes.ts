import type { Pool, PoolClient } from 'pg';
import { inBoundedStep, lacks, lacksMessages, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import { RECEIVED_PER_STEP } from './old-messages.ts';

/** Steps per inbox in one pass: up to two seconds of work. The next pass continues. */
const STEPS_PER_PASS = 200;

/** The result of a pass over deleted inboxes. */
export interface InboxRemovals {
  /** Inboxes without any rows left. */
  readonly removed: number;
  /** Inboxes with rows left for the next pass. */
  readonly unfinished: number;
}

/**
 * Deletes the rows of deleted inboxes. Locked rows are skipped, so this cannot deadlock. The blob sweep
 * deletes the bytes of messages.
 */
export async function removeInboxes(pool: Pool): Promise<InboxRemovals> {
  const { rows } = await queryOn<{ id: string }>(pool, 'select id from removed_inboxes order by id');
  let removed = 0;
  for (const { id } of rows) if (await removeRows(pool, id)) removed += 1;
  return { removed, unfinished: rows.length - removed };
}

/** @returns whether the inbox has no rows left. */
async function removeRows(pool: Pool, id: string): Promise<boolean> {
  for (let steps = 0; steps < STEPS_PER_PASS; steps += 1) {
    if (!(await inBoundedStep(pool, (client) => step(client, id)))) break;
  }
  return ((await queryOn(pool, FORGET, [id])).rowCount ?? 0) > 0;
}

/** @returns whether it deleted rows. */
async function step(client: PoolClient, id: string): Promise<boolean> {
  for (const drop of [DROP_SENDS, DROP_MESSAGES, DROP_THREADS]) {
    if (((await client.query(drop, [id])).rowCount ?? 0) > 0) return true;
  }
  return false;
}

function dropSome(table: string, key: string, rows: number, condition = ''): string {
  return `
    with mine as materialized (
      select ${key} from ${table} r where r.inbox_id = $1 ${condition} limit ${rows} for update skip locked
    )
    delete from ${table} where ${key} = any (array(select ${key} from mine))`;
}

const DROP_SENDS = dropSome('inbox_sends', 'email_id', ROWS_PER_STEP);
const DROP_MESSAGES = dropSome('messages', 'id', RECEIVED_PER_STEP);
/**
 * Deleting a thread would also delete its messages. So a thread stays until its messages are deleted.
 */
const DROP_THREADS = dropSome('inbox_threads', 'id', ROWS_PER_STEP, `and ${lacksMessages('r.id')}`);

const FORGET = `
  delete from removed_inboxes
  where id = $1
    and ${lacks('inbox_sends', 'inbox_id', '$1')}
    and ${lacks('messages', 'inbox_id', '$1')}
    and ${lacks('inbox_threads', 'inbox_id', '$1')}`;
