-- no transaction

-- An operator looks for a Message-ID whatever its inbox, and finds held messages, too.
create index concurrently if not exists messages_of_message_id on messages (message_id, inbox_id);
drop index concurrently if exists messages_by_message_id;
