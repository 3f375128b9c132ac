-- busy table
-- As of messages: a relay deletes the threads of a deleted inbox.
alter table inbox_threads drop constraint inbox_threads_inbox_id_fkey;
