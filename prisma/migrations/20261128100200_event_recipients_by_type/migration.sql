-- no transaction, busy table
-- The second and further recipients, by type as well. A row from before has no type: no list finds it.
alter table event_recipients add column if not exists type text not null default '';
create unique index concurrently if not exists event_recipients_by_type on event_recipients (key, type, position);
alter table event_recipients drop constraint if exists event_recipients_pkey,
  add constraint event_recipients_pkey primary key using index event_recipients_by_type;
