-- no transaction
-- The events of an account that are in no list: written back by a replay, or recorded before there were positions. An erasure reads
-- them here, and all others by `events_by_account`. The form of the time keeps its statement from `events_by_age`.
create index concurrently if not exists events_without_position
  on events (account_id, greatest(created_at, '-infinity')) where position is null;
