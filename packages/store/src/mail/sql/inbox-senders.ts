import type { Statement } from '../../db/statement.ts';

/**
 * Locks the inboxes from whose addresses live mail is sent, so that what they have sent can be counted and added to by one
 * transaction at a time.
 *
 * Guarantee: a later statement of the same transaction sees what the former holder of the lock sent.
 *
 * $1 account, $2 kind, $3 addresses as inboundAddress writes them.
 * Returns id and address of each, locked in the order of the ids.
 */
export const lockInboxSenders: Statement = {
  name: 'lock-inbox-senders',
  text: `
    select i.id, i.address from inboxes i
    where i.account_id = $1 and i.kind = $2::key_kind and i.address = any ($3::text[])
    order by i.id
    for no key update`,
};

/**
 * Notes mail that inboxes send, each message in its thread, and begins the threads that are new.
 *
 * Guarantee: run under the locks of the inboxes.
 *
 * $1 records (JSON array: email, inbox, thread, and the subject of a thread that is new), $2 now.
 */
export const addInboxSends: Statement = {
  name: 'add-inbox-sends',
  text: `
    with given as materialized (
      select * from json_to_recordset($1::json) as g ("emailId" text, "inboxId" text, "threadId" text, "isNew" boolean, subject text)
    ),
    begun as (
      insert into inbox_threads (id, inbox_id, subject, created_at, last_at)
      select g."threadId", g."inboxId", g.subject, $2::timestamptz, $2::timestamptz from given g where g."isNew"
    ),
    joined as (
      update inbox_threads t set last_at = greatest(t.last_at, $2::timestamptz)
      from given g where t.id = g."threadId" and not g."isNew"
    )
    insert into inbox_sends (email_id, inbox_id, thread_id, created_at)
    select g."emailId", g."inboxId", g."threadId", $2::timestamptz from given g`,
};

/**
 * Whether inboxes or threads sent more in the last hour than they may.
 *
 * $1 inboxes, $2 messages an hour of an inbox, $3 threads, $4 messages an hour into a thread, $5 now.
 */
export const judgeInboxSends: Statement = {
  name: 'judge-inbox-sends',
  text: `
    select exists (
             select from unnest($1::text[]) i (id)
             where (select count(*) from inbox_sends s
                    where s.inbox_id = i.id and s.created_at > $5::timestamptz - interval '1 hour') > $2
           ) as "inboxIsOver",
           exists (
             select from unnest($3::text[]) t (id)
             where (select count(*) from inbox_sends s
                    where s.thread_id = t.id and s.created_at > $5::timestamptz - interval '1 hour') > $4
           ) as "threadIsOver"`,
};
