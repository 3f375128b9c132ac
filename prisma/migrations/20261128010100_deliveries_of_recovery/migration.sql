-- busy table
-- The recovery that queued the delivery. Null: its event is fresh, or was replayed.
alter table deliveries add column recovery_id text;
