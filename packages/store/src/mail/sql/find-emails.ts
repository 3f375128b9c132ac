import { statement } from '../../db/statement.ts';

/** The columns of a found message: no text, and only the names of its files. */
const FOUND = `e.id, e.account_id as "accountId", e.kind::text as kind, e.status::text as status, e.last_event as "lastEvent",
           e.from_address as "from", e.to_addresses as "to", e.cc_addresses as cc, e.bcc_addresses as bcc, e.subject, e.tags,
           e.error, e.provider_message_id as "providerMessageId", e.created_at as "createdAt", e.sent_at as "sentAt",
           e.api_key_id as "apiKeyId", e.request_id as "requestId",
           array(select f.filename from email_attachments f where f.email_id = e.id order by f.position) as attachments`;

/** $1 messages, of any account. Returns those that exist, the newest first. */
export const findEmailsById = statement('find-emails-by-id')`
    select ${FOUND} from emails e where e.id = any ($1::text[]) order by e.id desc`;
