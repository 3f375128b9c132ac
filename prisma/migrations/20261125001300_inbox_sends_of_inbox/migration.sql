-- no transaction

-- A note goes with its inbox, also one that is written while the inbox is being deleted. Not validated: notes that were left
-- behind before go with their mail. One statement, which may run again.
alter table inbox_sends
  drop constraint if exists inbox_sends_inbox_id_fkey,
  add constraint inbox_sends_inbox_id_fkey foreign key (inbox_id) references inboxes (id) on delete cascade not valid;
