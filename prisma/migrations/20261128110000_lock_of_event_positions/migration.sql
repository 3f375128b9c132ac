-- busy table
-- The lock of event positions has two ints now. A customer's idempotency key is locked by its hash, a bigint, and could be the
-- former lock. While a send held that, events got no position.
--
-- The default now waits for the lock, so it always returns a position. Nobody takes the lock alone.
--
-- The former lock is in no release, so no process of a release looks for it.
alter table events alter column position
  set default (case when pg_advisory_xact_lock_shared(72707374, 0) is not null then nextval('event_positions') end);
