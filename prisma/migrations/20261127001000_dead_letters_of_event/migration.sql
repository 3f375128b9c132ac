-- no transaction
-- The dead letters of an event, at most one for each webhook.
create index concurrently if not exists dead_letters_of_event on dead_letters (event_id);
