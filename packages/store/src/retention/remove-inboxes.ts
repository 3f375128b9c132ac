import type { Pool, PoolClient } from 'pg';
import { inSoleStep, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { RECEIVED_PER_STEP } from './old-messages.ts';

/** Of one inbox; about half a second's work. The rest is left to the next call. */
const STEPS_PER_CALL = 200;

/** What a look at deleted inboxes came to. */
export interface InboxRemovals {
  /** Inboxes of which nothing is left. */
  readonly removed: number;
  /** Those that have rows left for the next time. */
  readonly underWay: number;
}

/**
 * Deletes the rows of deleted inboxes. Rows that others hold are skipped, so that nobody waits for two of them in different
 * orders. Bytes of messages are left to the sweep of the blob store.
 */
export async function removeInboxes(pool: Pool): Promise<InboxRemovals> {
  return mappingUnavailable(async () => {
    const { rows } = await pool.query<{ id: string }>('select id from removed_inboxes order by id');
    let removed = 0;
    for (const { id } of rows) if (await removeRows(pool, id)) removed += 1;
    return { removed, underWay: rows.length - removed };
  });
}

/** @returns whether nothing is left of it. */
async function removeRows(pool: Pool, id: string): Promise<boolean> {
  for (let steps = 0; steps < STEPS_PER_CALL; steps += 1) {
    const goesOn = await inSoleStep(pool, 'removed inboxes', (client) => step(client, id));
    if (goesOn !== true) break;
  }
  return ((await pool.query(FORGET, [id])).rowCount ?? 0) > 0;
}

async function step(client: PoolClient, id: string): Promise<boolean> {
  for (const drop of [DROP_NOTES, DROP_MESSAGES, DROP_THREADS]) {
    if (((await client.query(drop, [id])).rowCount ?? 0) > 0) return true;
  }
  return false;
}

function dropSome(table: string, key: string, rows: number, but = ''): string {
  return `
    with mine as materialized (
      select ${key} from ${table} r where r.inbox_id = $1 ${but} limit ${rows} for update skip locked
    )
    delete from ${table} where ${key} = any (array(select ${key} from mine))`;
}

const DROP_NOTES = dropSome('inbox_sends', 'email_id', ROWS_PER_STEP);
const DROP_MESSAGES = dropSome('messages', 'id', RECEIVED_PER_STEP);
/** A thread takes its messages with it: those that are left go first. */
const DROP_THREADS = dropSome(
  'inbox_threads',
  'id',
  ROWS_PER_STEP,
  'and not exists (select from messages m where m.thread_id = r.id)',
);

const FORGET = `
  delete from removed_inboxes
  where id = $1
    and not exists (select from inbox_sends where inbox_id = $1)
    and not exists (select from messages where inbox_id = $1)
    and not exists (select from inbox_threads where inbox_id = $1)`;
