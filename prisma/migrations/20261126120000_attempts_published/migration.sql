-- no transaction, busy table
-- A publication for all tables refuses to delete rows of a table without a key. The attempts have none.
alter table attempts replica identity full;

select format('alter table %I replica identity full', day.relname) as statement
from pg_inherits log join pg_class day on day.oid = log.inhrelid
where log.inhparent = 'attempts'::regclass and day.relreplident <> 'f'
order by day.relname;
