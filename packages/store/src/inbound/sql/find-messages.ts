import type { Statement } from '../../db/statement.ts';
import { INBOX_IS_THERE } from './inbox-is-there.ts';

const SEARCH = `
  select m.id, m.account_id as "accountId", m.kind::text as kind, m.inbox_id as "inboxId", m.rule_id as "ruleId",
         m.status::text as status, m.held_reason as "heldReason", m.created_at as "receivedAt", m.size
  from messages m
  where ${INBOX_IS_THERE}`;
const NEWEST = 'order by m.created_at desc, m.id desc limit $2';

/** The newest messages with a Message-ID, of every account. $1 the id without brackets, $2 how many. */
export const findMessagesById: Statement = {
  name: 'find-messages-by-id',
  text: `${SEARCH} and m.message_id = $1 ${NEWEST}`,
};

/**
 * The newest messages that an address sent, or that came for it. Reads the whole table where the address is rare.
 *
 * $1 the address in lower case, $2 how many.
 */
export const findMessagesByAddress: Statement = {
  name: 'find-messages-by-address',
  text: `
    ${SEARCH}
    and (exists (select from unnest(m.received_for) recipient where lower(recipient) = $1)
      or lower(m.from_address) = $1
      or right(lower(m.from_address), length($1) + 2) = '<' || $1 || '>')
    ${NEWEST}`,
};
