-- The workers that run, each with the attempts it can have in flight. A worker writes its row every second. Unlogged: after
-- a crash of Postgres the workers write their rows again.

create unlogged table workers (
  id text primary key,
  slots integer not null check (slots > 0),
  heard_at timestamptz not null default now()
);
