-- no transaction

-- Messages of one status, the newest first, however many of another the account or the inbox has.
create index concurrently if not exists messages_of_account_by_status
  on messages (account_id, kind, status, created_at desc, id desc);
create index concurrently if not exists messages_of_inbox_by_status
  on messages (inbox_id, status, created_at desc, id desc);
drop index concurrently if exists messages_of_account;
drop index concurrently if exists messages_of_inbox;

-- Retention finds by it what is past its days.
create index concurrently if not exists inbox_threads_by_age on inbox_threads (last_at);
