-- The second and all further recipients of an event. The index of `events` has the first, and most events have one.
create table event_recipients (
  key bigint not null,
  position bigint not null,
  event_id text not null,
  primary key (key, position)
);
