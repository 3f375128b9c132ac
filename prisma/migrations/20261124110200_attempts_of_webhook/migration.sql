-- no transaction, busy table
-- The type of the event, logged from now on; null before.
alter table attempts add column if not exists type text;

-- A webhook's attempts in the order of time. An index of a partitioned table cannot be made concurrently: on the parent it is
-- an entry of the catalogue, which every new day takes over. The days that are there get theirs one by one.
create index if not exists attempts_of_webhook on only attempts (webhook_id, started_at);

select format('create index concurrently if not exists %I on %I (webhook_id, started_at)',
              day.relname || '_of_webhook', day.relname) as statement
from pg_inherits log join pg_class day on day.oid = log.inhrelid
where log.inhparent = 'attempts'::regclass
  and not exists (
    select from pg_inherits whole join pg_index part on part.indexrelid = whole.inhrelid
    where whole.inhparent = 'attempts_of_webhook'::regclass and part.indrelid = day.oid)
order by day.relname;

select format('alter index attempts_of_webhook attach partition %I', part.relname) as statement
from pg_inherits log
join pg_class day on day.oid = log.inhrelid
join pg_class part on part.relname = day.relname || '_of_webhook' and part.relnamespace = day.relnamespace
where log.inhparent = 'attempts'::regclass
order by day.relname;
