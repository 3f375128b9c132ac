import type { Statement } from '../../db/statement.ts';

/**
 * What an inbox has received: how many messages are unread, and when the last one came. Held messages do not count.
 *
 * $1 inboxes. Returns a row for each that there is, with the id of its verified domain (null: the domain is shared, or
 * no longer the account's).
 */
export const readInboxes: Statement = {
  name: 'read-inboxes',
  text: `
    select i.id,
           (select count(*) from messages m where m.inbox_id = i.id and not m.read and m.status <> 'held')::int as unread,
           (select max(newest.created_at)
            from unnest('{received,released}'::message_status[]) s (status)
            cross join lateral (
              select m.created_at from messages m where m.inbox_id = i.id and m.status = s.status
              order by m.created_at desc limit 1
            ) newest) as "lastReceived",
           (select d.id from domains d
            where d.name = split_part(i.address, '@', 2) and d.account_id = i.account_id and d.status = 'verified') as "domainId"
    from inboxes i
    where i.id = any ($1::text[])`,
};
