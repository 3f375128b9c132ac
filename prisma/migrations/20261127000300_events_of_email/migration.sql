-- no transaction
-- The events of a message. The id is the first value of the data of all types about sent mail.
create index concurrently if not exists events_of_email
  on events ((case when starts_with(data, '{"email_id":"') then substr(data, 14, 29) end), position)
  where starts_with(data, '{"email_id":"') and position is not null;
