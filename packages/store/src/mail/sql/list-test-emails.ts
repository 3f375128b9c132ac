import type { Statement } from '../../db/statement.ts';

/**
 * A page of an account's mail of test keys, without bodies: few rows among any number of live ones.
 *
 * Guarantee: reads as many rows as the page has, whatever Postgres last counted. Only one index is on this expression, which
 * equals the account. With the column itself Postgres may read the index of all mail, while it knows of live mail alone.
 *
 * $1 account, $2 and $3 time and id beyond which the page begins, $4 messages.
 */
function pageOfTestEmails(name: string, beyond: '<' | '>', order: 'desc' | 'asc'): Statement {
  return {
    name,
    text: `
      select e.id, e.account_id as "accountId", e.kind, e.status, e.last_event as "lastEvent", e.from_address as "from",
             e.to_addresses as "to", e.cc_addresses as cc, e.bcc_addresses as bcc, e.reply_to_addresses as "replyTo", e.subject,
             e.headers, e.tags, e.topic_id as "topicId", e.error, e.provider_message_id as "providerMessageId",
             e.created_at as "createdAt", e.sent_at as "sentAt"
      from emails e
      where greatest(e.account_id, '') = $1 and e.kind = 'test' and (e.created_at, e.id) ${beyond} ($2::timestamptz, $3::text)
      order by e.created_at ${order}, e.id ${order}
      limit $4`,
  };
}

export const testEmailsAfter = pageOfTestEmails('test-emails-after', '<', 'desc');
export const testEmailsBefore = pageOfTestEmails('test-emails-before', '>', 'asc');
