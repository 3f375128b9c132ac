-- no transaction
-- As `events_of_account`, with a condition that only the lists of an account name. `position is not null` follows from any range
-- of positions. So Postgres could read that whole index for the list of a message, where both indexes had cost it nothing.
create index concurrently if not exists events_by_account
  on events (account_id, type, position) where coalesce(position, 0) > 0;
drop index concurrently if exists events_of_account;
