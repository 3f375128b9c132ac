-- no transaction
-- Several messages may have one Message-ID, or answer one. The oldest of them decides the thread: the first entry of the index.
create index concurrently if not exists messages_by_message_id on messages (message_id, inbox_id, created_at, id);
drop index concurrently if exists messages_of_message_id;
create index concurrently if not exists messages_of_in_reply_to on messages (inbox_id, in_reply_to, created_at, id)
  where thread_id is not null;
drop index concurrently if exists messages_by_in_reply_to;
