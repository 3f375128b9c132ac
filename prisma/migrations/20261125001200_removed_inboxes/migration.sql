-- no transaction, busy table

-- Inboxes that were deleted and still have rows: messages, threads, notes of what they sent. A relay deletes these in steps.
create table if not exists removed_inboxes (
  id text primary key
);
-- A cascade over a large inbox would never end within the time limit of a statement. Rows are added under the lock of the inbox.
alter table messages drop constraint if exists messages_inbox_id_fkey;
