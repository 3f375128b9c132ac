/**
 * What a message does to its thread, in a statement with a row `given` ("inboxId", "threadId", subject, "receivedAt"): it
 * begins the thread `newThread`, or else it is the newest message of the thread that it joins.
 *
 * @param newThread the parameter with the id of the thread that it begins, or null.
 */
export function intoThread(newThread: `$${number}`): string {
  return `
    begun as (
      insert into inbox_threads (id, inbox_id, subject, created_at, last_at)
      select ${newThread}, m."inboxId", m.subject, m."receivedAt", m."receivedAt" from given m where ${newThread}::text is not null
    ),
    joined as (
      update inbox_threads t set last_at = greatest(t.last_at, m."receivedAt") from given m where t.id = m."threadId"
    )`;
}
