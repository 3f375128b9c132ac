-- no transaction, busy table
-- Each statement locks out only vacuum and the like; an older release reads and writes on. Nothing is rewritten.
--
-- By default, vacuum begins when a fifth of the rows is dead: 100 million of 500 million. Lists of events begin at the oldest, where
-- retention has removed rows. They pass over the dead entries of the account, so vacuum begins at 0.5 % here. By default it leaves the
-- indexes alone while fewer than 2 % of the pages have dead rows.
alter table events set (
  autovacuum_vacuum_scale_factor = 0.005,
  autovacuum_vacuum_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0.005,
  autovacuum_vacuum_insert_threshold = 50000,
  vacuum_index_cleanup = on
);
alter table event_recipients set (
  autovacuum_vacuum_scale_factor = 0.005,
  autovacuum_vacuum_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0.005,
  autovacuum_vacuum_insert_threshold = 50000,
  vacuum_index_cleanup = on
);
-- Each report of the provider updates a row, which may have its body inline. With space left in its page, the update touches no
-- index. Pages that exist are filled as before.
alter table emails set (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.005,
  autovacuum_vacuum_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0.005,
  autovacuum_vacuum_insert_threshold = 50000
);
alter table email_recipients set (
  autovacuum_vacuum_scale_factor = 0.005,
  autovacuum_vacuum_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0.005,
  autovacuum_vacuum_insert_threshold = 50000
);
alter table provider_notifications set (
  autovacuum_vacuum_scale_factor = 0.005,
  autovacuum_vacuum_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0.005,
  autovacuum_vacuum_insert_threshold = 50000
);
