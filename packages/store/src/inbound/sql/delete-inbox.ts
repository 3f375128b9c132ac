import type { Statement } from '../../db/statement.ts';

/**
 * Deletes an inbox. Its messages and threads are missing from then on; their rows, and the notes of what it sent, are a
 * relay's to delete. Mail that it sent stays.
 *
 * Guarantee: waits for whoever holds the lock of the inbox, so that no row comes to it afterwards.
 *
 * $1 account, $2 kind, $3 id or null, $4 address or null. Returns its id; no row when there is none.
 */
export const deleteInbox: Statement = {
  name: 'delete-inbox',
  text: `
    with gone as (
      delete from inboxes where account_id = $1 and kind = $2::key_kind and (id = $3 or address = $4) returning id
    )
    insert into removed_inboxes (id) select id from gone returning id`,
};
