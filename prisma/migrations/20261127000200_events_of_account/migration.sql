-- no transaction
-- The account's events of one type in the order of the list. All types are read side by side.
create index concurrently if not exists events_of_account
  on events (account_id, type, position) where position is not null;
