-- no transaction

-- Which threads of an inbox have unread messages, and how many an inbox has, without a look at the messages.
create index concurrently if not exists messages_unread_by_thread
  on messages (inbox_id, thread_id) where not read and status <> 'held';
drop index concurrently if exists messages_unread;
