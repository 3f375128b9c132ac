-- no transaction
-- A body for 50 inboxes is copied 49 times. What did not shrink is compressed anew for each copy: by pglz for longer than a
-- message may take, by lz4 in a fifth of that. A Postgres that was built without lz4 keeps pglz.
select 'alter table messages alter column text set compression lz4, alter column html set compression lz4' as statement
from pg_settings
where name = 'default_toast_compression' and 'lz4' = any (enumvals);
