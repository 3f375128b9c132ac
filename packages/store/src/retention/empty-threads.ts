import type { PoolClient } from 'pg';
import { lacks, lacksMessages } from '../db/bounded-step.ts';

/**
 * Locks the inboxes of mail threads, as receiving and sending do. Until the transaction ends, nothing is
 * added to the threads.
 *
 * @returns the locked inboxes. An inbox that receives or sends now is skipped.
 */
export async function lockInboxesOf(client: PoolClient, threadIds: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select i.id from inboxes i
     where i.id = any (array(select t.inbox_id from inbox_threads t where t.id = any ($1::text[])))
     order by i.id
     for no key update skip locked`,
    [threadIds],
  );
  return rows.map(({ id }) => id);
}

/** Deletes the threads that are empty. The caller has locked their inboxes, so nothing is added to them. */
export async function dropEmptyThreads(client: PoolClient, threadIds: readonly string[]): Promise<void> {
  await client.query(
    `delete from inbox_threads t
     where t.id = any ($1::text[])
       and ${lacksMessages('t.id')}
       and ${lacks('inbox_sends', 'thread_id', 't.id')}`,
    [threadIds],
  );
}
