-- busy table
-- Addresses at which an account receives mail.
create table inboxes (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  -- Of the key that made it. Its messages and replies are of the same kind.
  kind key_kind not null,
  -- As inboundAddress writes it. A former owner of the domain may have an inbox with the same address.
  address text not null,
  name text not null,
  from_name text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create unique index inboxes_address on inboxes (address, account_id);
create index inboxes_of_account on inboxes (account_id, created_at desc, id desc);

-- Received mail. The raw bytes, and the contents of attachments, are in the blob store under their SHA-256.
create type message_status as enum ('received', 'held', 'released');

create table inbox_threads (
  id text primary key,
  inbox_id text not null references inboxes (id) on delete cascade,
  subject text,
  created_at timestamptz(3) not null,
  -- Of its newest message, in or out.
  last_at timestamptz(3) not null
);
create index inbox_threads_of_inbox on inbox_threads (inbox_id, last_at desc, id desc);

create table messages (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  kind key_kind not null,
  -- Null: a rule took it, and its recipient has no inbox.
  inbox_id text references inboxes (id) on delete cascade,
  -- Null: held, or without an inbox.
  thread_id text references inbox_threads (id) on delete cascade,
  -- The rule may be gone.
  rule_id text,
  status message_status not null,
  held_reason text,
  created_at timestamptz(3) not null,
  released_at timestamptz(3),
  read boolean not null default false,
  -- SHA-256 of the bytes as they came, without our trace header: a repetition has the same.
  content_digest bytea not null,
  -- Of the raw bytes in the blob store.
  blob text not null,
  size int not null,
  message_id text,
  in_reply_to text,
  reference_ids text[] not null default '{}',
  from_address text not null,
  to_addresses text[] not null,
  cc_addresses text[] not null,
  reply_to_addresses text[] not null,
  -- The envelope's recipients that led here, with their tags.
  received_for text[] not null,
  subject text,
  text text,
  html text,
  headers json not null,
  spf text not null,
  dkim text not null,
  dmarc text not null,
  automatic boolean not null
);
create index messages_of_account on messages (account_id, created_at desc, id desc);
create index messages_of_inbox on messages (inbox_id, created_at desc, id desc);
create index messages_of_thread on messages (thread_id, created_at, id);
create index messages_unread on messages (inbox_id) where not read and status <> 'held';
create index messages_by_message_id on messages (inbox_id, message_id) where thread_id is not null;
create index messages_by_in_reply_to on messages (inbox_id, in_reply_to) where thread_id is not null;
create index messages_by_digest on messages (content_digest);
create index messages_by_blob on messages (blob);
create index messages_by_age on messages (created_at);

create table message_attachments (
  id text primary key,
  message_id text not null references messages (id) on delete cascade,
  position int not null,
  filename text,
  content_type text not null,
  content_id text,
  size int not null,
  blob text not null
);
create unique index message_attachments_of_message on message_attachments (message_id, position);
create index message_attachments_by_blob on message_attachments (blob);

-- Rules that take received mail to an endpoint of their own, and senders whose mail is held.
create table inbound_routes (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  -- An address as inboundAddress writes it, or `*@` and a domain.
  match text not null,
  name text,
  -- Its subject names the rule.
  webhook_id text not null,
  created_at timestamptz(3) not null
);
create unique index inbound_routes_match on inbound_routes (match, account_id);
create index inbound_routes_of_account on inbound_routes (account_id, created_at desc, id desc);

create table blocked_senders (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  -- An address as plainAddress writes it, or a domain, which covers its subdomains.
  sender text not null,
  created_at timestamptz(3) not null
);
create unique index blocked_senders_sender on blocked_senders (account_id, sender);
create index blocked_senders_of_account on blocked_senders (account_id, created_at desc, id desc);
