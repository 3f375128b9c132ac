-- no transaction, busy table
-- An event's attempts at one webhook, in the order of time. By the event alone, each state at a webhook read the attempts at all.
-- The webhook is in a form that only reads of one event name. So no list of a webhook's attempts uses this index.
-- As in `attempts_of_webhook`, the parent gets an entry of the catalogue, and the days get their indexes one by one.
create index if not exists attempts_of_event_at_webhook on only attempts (event_id, greatest(webhook_id, ''), started_at);

select format('create index concurrently if not exists %I on %I (event_id, greatest(webhook_id, %L), started_at)',
              day.relname || '_of_event_at_webhook', day.relname, '') as statement
from pg_inherits log join pg_class day on day.oid = log.inhrelid
where log.inhparent = 'attempts'::regclass
  and not exists (
    select from pg_inherits whole join pg_index part on part.indexrelid = whole.inhrelid
    where whole.inhparent = 'attempts_of_event_at_webhook'::regclass and part.indrelid = day.oid)
order by day.relname;

select format('alter index attempts_of_event_at_webhook attach partition %I', part.relname) as statement
from pg_inherits log
join pg_class day on day.oid = log.inhrelid
join pg_class part on part.relname = day.relname || '_of_event_at_webhook' and part.relnamespace = day.relnamespace
where log.inhparent = 'attempts'::regclass
order by day.relname;

drop index if exists attempts_of_event;
