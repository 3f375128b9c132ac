-- busy table
-- Mail that an inbox sent: by a reply, or by another route from its address. Goes with the message, or with the inbox.
create table inbox_sends (
  email_id text primary key references emails (id) on delete cascade,
  inbox_id text not null,
  thread_id text not null,
  created_at timestamptz(3) not null
);
create index inbox_sends_of_inbox on inbox_sends (inbox_id, created_at);
create index inbox_sends_of_thread on inbox_sends (thread_id, created_at, email_id);
