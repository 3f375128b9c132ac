import { textKey } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';

/** The columns of a found message: no text, and only the names of its files. */
const FOUND = `e.id, e.account_id as "accountId", e.kind::text as kind, e.status::text as status, e.last_event as "lastEvent",
           e.from_address as "from", e.to_addresses as "to", e.cc_addresses as cc, e.bcc_addresses as bcc, e.subject, e.tags,
           e.error, e.provider_message_id as "providerMessageId", e.created_at as "createdAt", e.sent_at as "sentAt",
           e.api_key_id as "apiKeyId", e.request_id as "requestId", e.suppressed_addresses as "suppressedAddresses",
           array(select f.filename from email_attachments f where f.email_id = e.id order by f.position) as attachments`;

/** $1 messages, of any account. Returns those that exist, the newest first. */
export const findEmailsById = statement('find-emails-by-id')`
    select ${FOUND} from emails e where e.id = any ($1::text[]) order by e.id desc`;

/**
 * Reads messages of any account, the newest first.
 *
 * $1 what to find, $2 account or null for all, $3 messages returned at most, $4 messages read at most.
 *
 * @param ids a query for the ids, the newest first, once each
 */
function find(name: string, ids: string): Statement {
  return statement(name)`
    select ${FOUND}
    from (${ids} limit $4) r
    cross join lateral (select * from emails where id = r.id offset 0) e
    where $2::text is null or e.account_id = $2
    order by r.id desc
    limit $3`;
}

/** The domain of an address. Only a local part may have another `@`. */
export const domainOf = (address: string): string => `split_part(${address}, '@', -1)`;

/** A condition: the row `r` of `email_recipients` is of the address. */
export const isOfAddress = (address: string): string =>
  `r.domain_key = ${textKey(domainOf(address))} and r.address_key = ${textKey(address)}`;

export const findEmailsByAddress = find(
  'find-emails-by-address',
  `select r.email_id as id from email_recipients r where ${isOfAddress('$1')} order by r.email_id desc`,
);

/** The recipients of a domain that are read in any order. */
const DOMAIN_RECIPIENTS_MAX = 10_000;
/** The newest recipients of all mail that are read when a domain has more. */
const RECIPIENTS_READ_MAX = 100_000;

/**
 * The index has the recipients of a domain by address, not by time. An index by time would cost each send as
 * much again. If a domain has more recipients than the sample, the newest of all mail likely has some. A
 * message to several recipients of the domain has a row for each.
 */
export const findEmailsByDomain = find(
  'find-emails-by-domain',
  `with sample as materialized (
     select r.email_id from email_recipients r where r.domain_key = ${textKey('$1')} limit ${DOMAIN_RECIPIENTS_MAX}
   )
   select distinct on (u.email_id) u.email_id as id
   from (
     select s.email_id from sample s
     union all
     select n.email_id
     from (
       select r.email_id, r.domain_key from email_recipients r order by r.email_id desc
       limit case when (select count(*) from sample) = ${DOMAIN_RECIPIENTS_MAX} then ${RECIPIENTS_READ_MAX} else 0 end
     ) n
     where n.domain_key = ${textKey('$1')}
   ) u
   order by u.email_id desc`,
);
/**
 * One request sends at most 100 messages. They are sorted by an expression that no index has, so Postgres
 * finds them by request.
 */
export const findEmailsByRequest = find(
  'find-emails-by-request',
  `select m.id from emails m where m.request_id is not null and m.request_id = $1 order by greatest(m.id, '') desc`,
);
/**
 * A key sends mail of its account only. An index by key would make each send cost more. So the newest $4
 * messages of the account are read.
 */
export const findEmailsByKey = find(
  'find-emails-by-key',
  `select m.id
   from (select * from api_keys where id = $1 offset 0) k
   cross join lateral (
     select o.id, o.api_key_id from emails o
     where o.account_id = k.account_id order by o.created_at desc, o.id desc limit $4
   ) m
   where m.api_key_id = $1
   order by m.id desc`,
);
/** $1: a list. The id of a message is the local part of its own Message-ID. */
export const findEmailsByMessageId = find(
  'find-emails-by-message-id',
  `select m.id from emails m
   where m.id = any (array(
     select id from emails where provider_message_id is not null and provider_message_id = any ($1::text[])
     union all select unnest($1::text[])))
   order by m.id desc`,
);
