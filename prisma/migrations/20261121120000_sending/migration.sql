-- The whole of sending: attachments, tags, topics, suppressions, domains, idempotency, notifications of the provider.

create type domain_status as enum ('pending', 'verified', 'failed', 'temporary_failure');
create type topic_subscription as enum ('opt_in', 'opt_out');
create type suppression_origin as enum ('bounce', 'complaint', 'manual', 'unsubscribe');

alter table emails
  add column tags json not null default '[]',
  -- no foreign key: a topic may go, and its mail stays
  add column topic_id text,
  -- recipients that were left out, because they were suppressed when the message was handed over
  add column suppressed_addresses text[] not null default '{}';
-- A notification without our tag is matched by the provider's own id.
create index emails_of_provider_message on emails (provider_message_id) where provider_message_id is not null;

create table email_attachments (
  email_id text not null references emails (id) on delete cascade,
  position smallint not null,
  filename text not null,
  content bytea not null,
  content_type text,
  -- set: shown inline, by cid:
  content_id text,
  primary key (email_id, position)
);
-- Mostly compressed already: compressing it again would be CPU for nothing.
alter table email_attachments alter column content set storage external;

-- Answers remembered for a repetition, written in the send's own transaction; kept for a day.
create table idempotency_keys (
  account_id text not null references accounts (id) on delete cascade,
  kind key_kind not null,
  route text not null,
  key text not null,
  -- SHA-256 of the parsed body
  request_digest bytea not null,
  answer json not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, kind, route, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

create table domains (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  -- in ASCII and lower case; of one account only
  name text not null,
  region text not null,
  status domain_status not null,
  -- what is to be published in the DNS
  records json not null,
  created_at timestamptz(3) not null
);
create unique index domains_name on domains (name);
create index domains_of_account on domains (account_id, created_at desc, id desc);

create table topics (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  name text not null,
  description text,
  default_subscription topic_subscription not null,
  created_at timestamptz(3) not null
);
create index topics_of_account on topics (account_id, created_at desc, id desc);

-- Who is not to be written to any more: about anything, or about one topic.
create table suppressions (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  -- lower case, its domain in ASCII
  address text not null,
  -- '': about anything. Not null, so that the index below holds one row of each.
  topic_id text not null default '',
  origin suppression_origin not null,
  -- the message that it came of, where there is one
  email_id text,
  created_at timestamptz(3) not null
);
create unique index suppressions_address on suppressions (account_id, address, topic_id);
create index suppressions_of_account on suppressions (account_id, created_at desc, id desc);

-- Notifications that were taken in, so that one delivered twice changes nothing; kept for some days.
create table provider_notifications (
  message_id text primary key,
  received_at timestamptz(3) not null default now()
);
create index provider_notifications_by_age on provider_notifications (received_at);
