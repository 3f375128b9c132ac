-- A recovery queues a webhook's events of a time span again, in bounded steps of a relay.
create table recoveries (
  id text primary key,
  account_id text not null,
  webhook_id text not null,
  since timestamptz(3) not null,
  until timestamptz(3) not null,
  types text[] not null, -- empty: all
  undelivered_only boolean not null,
  rate integer not null, -- events a second
  matched integer not null,
  dead_letters integer not null, -- of the matched events
  has_more boolean not null, -- more events match than were counted
  position bigint not null, -- the last event that a step has looked at
  last_position bigint not null,
  queued integer not null default 0,
  delivered integer not null default 0,
  failed integer not null default 0,
  next_step_at timestamptz(6) not null default now(),
  created_at timestamptz(3) not null, -- the moment of the count
  ended_at timestamptz(3),
  stopped boolean not null default false
);
create index recoveries_of_webhook on recoveries (webhook_id, created_at desc, id desc);
create index recoveries_by_age on recoveries (ended_at);
create unique index recoveries_running on recoveries (webhook_id) where ended_at is null;
-- How deliveries of recoveries ended, until a step adds them up. Workers only insert, so none waits for another.
create table recovery_outcomes (
  recovery_id text not null,
  delivered integer not null,
  failed integer not null,
  recorded_at timestamptz(3) not null default now(),
  id bigint generated always as identity primary key
);
create index recovery_outcomes_of_recovery on recovery_outcomes (recovery_id);
create index recovery_outcomes_by_age on recovery_outcomes (recorded_at);
