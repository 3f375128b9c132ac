-- Sums of the attempt log, for people. The relay adds them up. No foreign keys: the removal of a webhook deletes its rows.

-- A histogram counts attempts by duration. packages/domain/src/durations.ts has its bounds.
create table attempts_by_minute (
  webhook_id text not null,
  begins_at timestamptz(0) not null,
  attempts integer not null,
  successes integer not null, -- answered with 2xx
  durations integer[] not null,
  slowest_ms integer not null,
  primary key (webhook_id, begins_at)
) with (fillfactor = 80);
-- The busiest webhooks of a minute, and what retention deletes.
create index attempts_by_minute_busiest on attempts_by_minute (begins_at, attempts desc);

create table attempts_by_hour (
  webhook_id text not null,
  begins_at timestamptz(0) not null,
  attempts integer not null,
  successes integer not null,
  durations integer[] not null,
  slowest_ms integer not null,
  primary key (webhook_id, begins_at)
) with (fillfactor = 80);
create index attempts_by_hour_for_retention on attempts_by_hour (begins_at);

-- When attempts of a webhook last succeeded and failed. A webhook without an attempt has no row.
create table webhook_health (
  webhook_id text primary key,
  last_success_at timestamptz,
  last_failure_at timestamptz
) with (fillfactor = 80);

-- Which minutes of the log are in the sums. At most one row.
create table attempt_sums (
  single boolean primary key default true check (single),
  settled_until timestamptz(0) not null, -- no attempt before it can still appear
  summed_until timestamptz(0) not null,
  -- Where a pass over all webhooks goes, and the last webhook that it has added. Null: no pass is under way.
  next_settled_until timestamptz(0),
  next_summed_until timestamptz(0),
  last_webhook_id text
);
