-- no transaction
-- An event's delivery and its dead letter at one webhook. By the event alone, the state at each of 10,000 webhooks read the rows of all.
-- The webhook is in a form that only reads of one event name. So no list of a webhook's deliveries or letters uses these indexes.
create index concurrently if not exists deliveries_of_event_at_webhook on deliveries (event_id, greatest(webhook_id, ''));
drop index concurrently if exists deliveries_of_event;
create index concurrently if not exists dead_letters_of_event_at_webhook on dead_letters (event_id, greatest(webhook_id, ''));
drop index concurrently if exists dead_letters_of_event;
