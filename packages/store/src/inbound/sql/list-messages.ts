import type { Statement } from '../../db/statement.ts';
import { INBOX_IS_THERE } from './inbox-is-there.ts';

/**
 * A page of an account's messages, or of one inbox's. Each status is a walk over one index, which ends where the page does.
 *
 * $1 account, $2 kind, $3 statuses, $4 and $5 time and id beyond which the page begins, $6 messages, of an inbox $7 the inbox.
 */
function pageOfMessages(
  name: string,
  ofReader: string,
  { beyond, order }: { readonly beyond: '<' | '>'; readonly order: 'desc' | 'asc' },
): Statement {
  return {
    name,
    text: `
      select p.id
      from unnest($3::message_status[]) s (status)
      cross join lateral (
        select m.id, m.created_at from messages m
        where ${ofReader} and m.status = s.status and (m.created_at, m.id) ${beyond} ($4::timestamptz, $5::text)
        order by m.created_at ${order}, m.id ${order}
        limit $6
      ) p
      order by p.created_at ${order}, p.id ${order}
      limit $6`,
  };
}

const OF_ACCOUNT = `m.account_id = $1 and m.kind = $2::key_kind and ${INBOX_IS_THERE}`;
/** Messages of an inbox are of its account and its kind. */
const OF_INBOX = `
  m.inbox_id = (select i.id from inboxes i where i.id = $7 and i.account_id = $1 and i.kind = $2::key_kind)`;

const AFTER = { beyond: '<', order: 'desc' } as const;
const BEFORE = { beyond: '>', order: 'asc' } as const;

export const accountMessagesAfter = pageOfMessages('account-messages-after', OF_ACCOUNT, AFTER);
export const accountMessagesBefore = pageOfMessages('account-messages-before', OF_ACCOUNT, BEFORE);
export const inboxMessagesAfter = pageOfMessages('inbox-messages-after', OF_INBOX, AFTER);
export const inboxMessagesBefore = pageOfMessages('inbox-messages-before', OF_INBOX, BEFORE);
