-- no transaction
-- The events of their first recipient.
create index concurrently if not exists events_of_recipient
  on events ((recipients[1]), position) where recipients is not null and position is not null;
