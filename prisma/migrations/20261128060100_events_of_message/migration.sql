-- no transaction
-- The events of a received message. Its id is the second value of the data of all types about received mail.
create index concurrently if not exists events_of_message
  on events (substr(data, 27, 30)) where starts_with(data, '{"object":"message","id":"');
