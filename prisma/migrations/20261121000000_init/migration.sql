-- Postrider's tables. What each is for: docs/architecture.md. Migrations are append-only.

create type key_kind as enum ('live', 'test');
create type dead_letter_reason as enum ('attempts_exhausted', 'rejected');
create type email_status as enum ('queued', 'sent', 'failed', 'stored');

create table accounts (
  id text primary key,
  name text not null,
  created_at timestamptz(3) not null default now()
);

create table api_keys (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  digest bytea not null,
  kind key_kind not null,
  scopes text[] not null,
  rate_limit_per_minute integer,
  created_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3)
);
create unique index api_keys_digest on api_keys (digest);
create index api_keys_of_account on api_keys (account_id);

create table webhooks (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  -- null: the account's own endpoint; else the subject of an inbound routing rule
  subject text,
  endpoint text not null,
  -- empty: every type
  events text[] not null default '{}',
  secret_key_id text not null,
  secret_sealed bytea not null,
  -- since when its answers have been mostly failures; null while it answers well
  failing_since timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index webhooks_of_account on webhooks (account_id);

create table events (
  id text primary key,
  account_id text not null,
  type text not null,
  created_at timestamptz(3) not null,
  data text not null
);
create index events_by_age on events (created_at);

-- Outstanding work only: a row that is finished is deleted. No foreign keys: a delete of a webhook removes its
-- rows in the same transaction, and taking a row joins the webhook.
-- leased_until, taken_at and claim stand in no index, so that lease writes stay heap-only.
create table deliveries (
  id bigint generated always as identity primary key,
  event_id text not null,
  webhook_id text not null,
  due_at timestamptz not null default now(),
  -- until when the row is in somebody's hands (relay or worker)
  leased_until timestamptz,
  -- since when a worker has it; null while it only waits in the queue
  taken_at timestamptz,
  -- counts hand-overs: the fence
  claim integer not null default 0,
  attempts smallint not null default 0,
  last_status smallint
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 50000
);
create index deliveries_work on deliveries (webhook_id, due_at, id);

-- The log of every request made; partitioned by day, dropped by day.
create table attempts (
  started_at timestamptz not null,
  delivery_id bigint not null,
  event_id text not null,
  webhook_id text not null,
  attempt smallint not null,
  duration_ms integer not null,
  status smallint,
  error text,
  answer bytea
) partition by range (started_at);
create table attempts_default partition of attempts default;
create index attempts_of_event on attempts (event_id);

-- A dead letter carries its event, so that retention may drop events by age and a replay still has everything.
create table dead_letters (
  id text primary key,
  account_id text not null,
  webhook_id text not null,
  event_id text not null,
  type text not null,
  event_created_at timestamptz(3) not null,
  data text not null,
  attempts smallint not null,
  reason dead_letter_reason not null,
  last_error text not null,
  status_code smallint,
  created_at timestamptz(3) not null default now()
);
create index dead_letters_of_account on dead_letters (account_id, created_at desc, id desc);
create index dead_letters_of_webhook on dead_letters (webhook_id);

create table emails (
  id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  kind key_kind not null,
  status email_status not null,
  from_address text not null,
  to_addresses text[] not null,
  cc_addresses text[] not null,
  bcc_addresses text[] not null,
  reply_to_addresses text[] not null,
  subject text not null,
  html text,
  text text,
  headers json not null,
  last_event text not null,
  error text,
  provider_message_id text,
  created_at timestamptz(3) not null,
  sent_at timestamptz(3)
);
create index emails_of_account on emails (account_id, created_at desc, id desc);

-- The outbox of mail that has still to be handed to the provider; leases and fence as in deliveries.
create table email_sends (
  email_id text primary key references emails (id) on delete cascade,
  due_at timestamptz not null default now(),
  leased_until timestamptz,
  claim integer not null default 0,
  attempts smallint not null default 0
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index email_sends_due on email_sends (due_at, email_id);

-- The request limit's windows where there is no Redis. Unlogged: a crash begins every window anew.
create unlogged table rate_limits (
  key text primary key,
  used integer not null,
  ends_at timestamptz not null
) with (fillfactor = 50);
