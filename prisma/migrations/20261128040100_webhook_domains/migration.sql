-- busy table
-- The domains whose mail a webhook gets events of. Null: every event.
alter table webhooks add column domains text[];
