import type { PoolClient } from 'pg';

/**
 * Locks the inboxes of threads, as who receives or sends does: until the transaction ends nothing comes into their threads.
 *
 * @returns the inboxes, without those in which something is received or sent just now.
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

/** Deletes those of the threads in which nothing is left. Their inboxes are locked, so that nothing comes into them. */
export async function dropEmptyThreads(client: PoolClient, threadIds: readonly string[]): Promise<void> {
  await client.query(
    `delete from inbox_threads t
     where t.id = any ($1::text[])
       and not exists (select from messages m where m.thread_id = t.id)
       and not exists (select from inbox_sends s where s.thread_id = t.id)`,
    [threadIds],
  );
}
