-- busy table
-- Dead letters of the webhook that retention has deleted, by age or by number.
alter table webhooks add column dead_letters_dropped integer not null default 0;
