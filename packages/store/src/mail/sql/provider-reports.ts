import { eventCtes } from '../../db/sql/event-ctes.ts';
import type { Statement } from '../../db/statement.ts';
import { lockOrder } from './suppressions.ts';

/**
 * Finds the message that a notification is about, and holds it until the transaction ends.
 *
 * Guarantee: our own id decides; the provider's is asked only when ours names no message, and the id in the message's own
 * header only when the provider's names none either. Reports about one message
 * follow each other, so that each sees the last event that the one before has left.
 *
 * $1 our id or null, $2 the provider's id or null, $3 our id in the header or null. Returns no row, or one.
 */
export const lockNotifiedEmail: Statement = {
  name: 'lock-notified-email',
  text: `
    select id, account_id, from_address, subject
    from emails
    where id = coalesce(
      (select id from emails where id = $1),
      (select id from emails where provider_message_id = $2 order by id limit 1),
      (select id from emails where id = $3)
    )
    for no key update`,
};

type Parameter = `$${number}`;

/**
 * The insert that suppresses, for anything, the addresses that a notification blames.
 *
 * Guarantee: one row an address, locked in the order of `lockOrder`. One that is there keeps its id and time; but a
 * complaint, which is not taken back as easily, takes the place of what was there.
 *
 * @param email a FROM item with `account_id` and `email_id`; without a row nobody is suppressed.
 * @param parameters suppression ids, addresses (each once), origins, created at.
 */
function insertReported(
  email: string,
  [ids, addresses, origins, createdAt]: readonly [Parameter, Parameter, Parameter, Parameter],
): string {
  return `
      insert into suppressions (id, account_id, address, origin, email_id, created_at)
      select r.id, e.account_id, r.address, r.origin, e.email_id, ${createdAt}::timestamptz
      from ${email} e,
           unnest(${ids}::text[], ${addresses}::text[], ${origins}::suppression_origin[]) as r (id, address, origin)
      order by ${lockOrder('r.address')}
      on conflict (account_id, address, topic_id) do update
        set origin = excluded.origin, email_id = excluded.email_id
        where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'`;
}

/**
 * Suppresses the addresses that notifications blame. The guarantee is that of `insertReported`.
 *
 * $1 suppression ids, $2 addresses, each once, $3 origins, $4 account, $5 email, $6 created at.
 */
export const suppressReported: Statement = {
  name: 'suppress-reported',
  text: insertReported('(select $4::text as account_id, $5::text as email_id)', ['$1', '$2', '$3', '$6']),
};

/**
 * Takes in a report about a message that is known by our id: the notification's id, what is last known of the
 * message, the suppressed addresses, and the event.
 *
 * Guarantee: all of it or nothing; alone it is its own transaction. Locks come in the order message,
 * notification, suppressions, webhooks. A message that another has locked is passed over: whoever waits for
 * it has to see anew which webhooks there are, and runs this behind `lock-notified-email`, in one
 * transaction. A notification that was taken before changes nothing.
 *
 * $1 to $6 as `eventCtes` has them, one event and no account; $7 our id, $8 id of the notification, $9 last
 * event, $10 the last events that stay, $11 error of a message that was never sent, or null; $12 suppression
 * ids, $13 addresses, each once, $14 origins. Returns no row when no message has the id, or another has
 * locked it.
 */
export const takeReport: Statement = {
  name: 'take-report',
  text: `
    with email as materialized (
      select id, account_id, kind, last_event from emails where id = $7::text for no key update skip locked
    ),
    taken as (
      insert into provider_notifications (message_id)
      select $8::text from email
      on conflict (message_id) do nothing
      returning message_id
    ),
    live as materialized (
      select e.id as email_id, e.account_id, e.last_event from email e, taken where e.kind = 'live'
    ),
    moved as (
      update emails
      set last_event = case when last_event = any ($10::text[]) then last_event else $9::text end,
          status = case when $11::text is null then status else 'failed' end,
          error = coalesce($11::text, error)
      where id = $7 and (select $11::text is not null or l.last_event <> all ($10::text[]) from live l)
    ),
    suppressed as (${insertReported('live', ['$12', '$13', '$14', '$4'])}
      returning id
    ),
    fresh as materialized (
      select t.id, coalesce($2::text, l.account_id) as account_id, t.data
      from live l, unnest($1::text[], $5::text[]) as t (id, data)
      where (select count(*) from suppressed) >= 0 -- so all of them are locked before a webhook is
    ),
    ${eventCtes('fresh')}
    select e.kind, exists (select from taken) as taken, array(select m.id from matching m) as webhooks
    from email e`,
};
