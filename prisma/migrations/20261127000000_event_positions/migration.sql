-- busy table
-- The place of an event in the account's list. Null: recorded before there was the column, or written back by a replay.
-- Such an event is in no list of events.
--
-- A transaction holds the shared advisory lock from before its first position until its events can be seen. Nobody takes
-- the lock alone. Who reads the last position, and then waits for all who hold the lock, sees every event up to there.
create sequence event_positions;
grant usage on sequence event_positions to public;
-- recipients: a key of each, see `recipientKey`.
alter table events add column position bigint, add column recipients bigint[];
alter table events alter column position
  set default (case when pg_try_advisory_xact_lock_shared(72707371) then nextval('event_positions') end);
