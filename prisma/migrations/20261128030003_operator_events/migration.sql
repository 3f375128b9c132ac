-- Events for OPERATOR_WEBHOOK_URL, until it has answered with a 2xx.
create table operator_events (
  id text primary key,
  type text not null,
  body text not null, -- the bytes that every attempt sends
  attempts smallint not null default 0,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
create index operator_events_due on operator_events (due_at);
create index operator_events_by_age on operator_events (created_at);
