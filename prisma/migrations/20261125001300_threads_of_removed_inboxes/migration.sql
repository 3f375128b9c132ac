-- no transaction, busy table

-- As of messages: a relay deletes the threads of a deleted inbox.
alter table inbox_threads drop constraint if exists inbox_threads_inbox_id_fkey;
