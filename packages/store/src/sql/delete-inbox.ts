import type { Statement } from '../statement.ts';

/**
 * Deletes an inbox. By foreign keys its threads, its messages and the notes of what it sent go with it; mail that it sent
 * stays.
 *
 * $1 account, $2 kind, $3 id or null, $4 address or null. Returns its id; no row when there is none.
 */
export const deleteInbox: Statement = {
  name: 'delete-inbox',
  text: `
    delete from inboxes where account_id = $1 and kind = $2::key_kind and (id = $3 or address = $4) returning id`,
};
