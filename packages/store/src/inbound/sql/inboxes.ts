import { statement } from '../../db/statement.ts';
import { receives } from '../../domains/sql/domains.ts';

/**
 * Locks an address on a shared domain until the transaction ends: inboxes and rules of all accounts may
 * compete for it.
 *
 * Guarantee: a later statement of the same transaction sees the rows that the last holder of the lock added.
 *
 * $1 address, normalised by inboundAddress. The result is a number: Prisma cannot read one of type void.
 */
export const lockInboundAddress = statement('lock-inbound-address')`
    select 1 as locked from pg_advisory_xact_lock(hashtextextended('inbound/' || $1::text, 0))`;

/**
 * Locks an inbox, or a rule where there is no inbox: messages for it are stored one at a time.
 *
 * Guarantee: a later statement of the same transaction sees the rows that the last holder of the lock stored.
 *
 * $1 inbox or null, $2 rule or null. Returns no row when it is deleted.
 */
export const lockInbox = statement('lock-inbox')`
    with inbox as (select i.id from inboxes i where i.id = $1::text for no key update),
    rule as (select r.id from inbound_routes r where $1::text is null and r.id = $2::text for no key update)
    select id from inbox union all select id from rule`;

/** A deleted address of a shared domain stays reserved for its account. */
export const ADDRESS_RESERVED_DAYS = 30;

/** A condition on an address of a shared domain: no other account has the address, or has it reserved. */
export function isFreeForAccount({ address, account }: Record<'address' | 'account', `$${number}`>): string {
  return `not exists (select from inboxes i where i.address = ${address} and i.account_id <> ${account})
      and not exists (select from inbound_routes r where r.match = ${address} and r.account_id <> ${account})
      and not exists (
        select from released_addresses a
        where a.address = ${address} and a.account_id <> ${account}
          and a.released_at > now() - interval '${ADDRESS_RESERVED_DAYS} days')`;
}

/**
 * Adds an inbox, unless the address is taken. It is taken when the account has an inbox with this address. On
 * a shared domain, it is also taken when another account has an inbox or a rule with it, or deleted one in
 * the last 30 days. On an account's own domain, entries of other accounts do not count: they belong to former
 * owners.
 *
 * Guarantee: an address belongs to one inbox. Run it under the account's lock and, on a shared domain, under
 * the address's lock.
 *
 * $1 id, $2 account, $3 kind (live or test), $4 address, $5 name, $6 from name or null, $7 true for a shared
 * domain.
 * Returns the id, or no row when the address is taken.
 */
export const addInbox = statement('add-inbox')`
    insert into inboxes (id, account_id, kind, address, name, from_name, created_at, updated_at)
    select $1, $2, $3::key_kind, $4, $5, $6, now(), now()
    where not $7::bool
       or ${isFreeForAccount({ address: '$4', account: '$2' })}
    on conflict (address, account_id) do nothing
    returning id`;

/**
 * Counts the unread messages of inboxes and reads when the last message arrived. Held messages do not count.
 *
 * $1 inboxes. Returns a row for each inbox that exists, with the id of its domain. The id is null when the
 * domain is shared, or does not receive.
 */
export const readInboxMail = statement('read-inbox-mail')`
    select i.id,
           (select count(*) from messages m where m.inbox_id = i.id and not m.read and m.status <> 'held')::int as unread,
           (select max(newest.created_at)
            from unnest('{received,released}'::message_status[]) s (status)
            cross join lateral (
              select m.created_at from messages m where m.inbox_id = i.id and m.status = s.status
              order by m.created_at desc limit 1
            ) newest) as "lastReceived",
           (select d.id from domains d
            where d.name = split_part(i.address, '@', 2) and d.account_id = i.account_id
              and ${receives('d')}) as "domainId"
    from inboxes i
    where i.id = any ($1::text[])`;

/**
 * A CTE that reserves addresses on shared domains for their account. The statement has the account as $1.
 *
 * @param from a query of the deleted addresses.
 */
export function reserveAddress(given: { from: string; sharedDomains: `$${number}` }): string {
  return `
    reserved as (
      insert into released_addresses (address, account_id, released_at)
      select f.address, $1, now() from (${given.from}) f (address)
      where split_part(f.address, '@', 2) = any (${given.sharedDomains}::text[])
      on conflict (address) do update set account_id = excluded.account_id, released_at = excluded.released_at
    )`;
}

/**
 * Deletes an inbox. Its messages and threads read as missing at once. A relay deletes their rows later, and
 * the rows in `inbox_sends`. The mail that the inbox sent stays. A row of `counted_sends` with 0 messages
 * marks the address as a former inbox: for an hour, live mail from it still counts against the hourly send
 * limit.
 *
 * Guarantee: the statement waits for the lock of the inbox, so no row is added to the inbox afterwards.
 *
 * $1 account, $2 kind (live or test), $3 id or null, $4 address or null, $5 shared domains. Returns the id,
 * or no row when the inbox is missing.
 */
export const deleteInbox = statement('delete-inbox')`
    with gone as (
      delete from inboxes where account_id = $1 and kind = $2::key_kind and (id = $3 or address = $4) returning id, address
    ),
    counting as (
      insert into counted_sends (id, account_id, address, messages, counted_at)
      select id, $1, address, 0, now() from gone where $2::key_kind = 'live'
    ),${reserveAddress({ from: 'select address from gone', sharedDomains: '$5' })}
    insert into removed_inboxes (id) select id from gone returning id`;
