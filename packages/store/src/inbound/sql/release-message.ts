import type { Statement } from '../../db/statement.ts';
import { intoThread } from './into-thread.ts';

/**
 * Releases a held message into its thread.
 *
 * Guarantee: of several at once one releases it. Run under the lock of its inbox, if it has one.
 *
 * $1 message, $2 the thread that it joins or null, $3 a new thread's id or null, $4 now. No row when it is not held.
 */
export const releaseMessage: Statement = {
  name: 'release-message',
  text: `
    with given as materialized (
      select m.id, m.inbox_id as "inboxId", $2::text as "threadId", m.subject, m.created_at as "receivedAt"
      from messages m
      where m.id = $1 and m.status = 'held'
      for no key update
    ),${intoThread('$3')}
    update messages m
    set status = 'released', thread_id = coalesce($2::text, $3::text), released_at = $4::timestamptz
    from given g
    where m.id = g.id
    returning m.id`,
};
