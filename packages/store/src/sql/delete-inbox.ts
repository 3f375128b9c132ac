import type { Statement } from '../statement.ts';

/**
 * Deletes an inbox with its threads, its messages and the notes of what it sent. Mail that it sent stays.
 *
 * $1 account, $2 kind, $3 id or null, $4 address or null. Returns its id; no row when there is none.
 */
export const deleteInbox: Statement = {
  name: 'delete-inbox',
  text: `
    with gone as (
      delete from inboxes where account_id = $1 and kind = $2::key_kind and (id = $3 or address = $4) returning id
    ),
    sends as (
      delete from inbox_sends s using gone where s.inbox_id = gone.id
    )
    select id from gone`,
};
