/** That a message `m` is not of a deleted inbox. The rows of one may stay until a relay has deleted them. */
export const INBOX_IS_THERE = '(m.inbox_id = any (array(select id from removed_inboxes))) is not true';
