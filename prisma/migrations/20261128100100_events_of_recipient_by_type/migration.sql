-- no transaction
-- The events of their first recipient, of one type. By position alone, a list of a type that an address never had read all of its events.
create index concurrently if not exists events_of_recipient_by_type
  on events ((recipients[1]), type, position) where recipients is not null and position is not null;
drop index concurrently if exists events_of_recipient;
