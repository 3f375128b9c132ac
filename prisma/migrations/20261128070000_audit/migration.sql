-- Who did what. An action writes its entry in its own transaction.
create table audit (
  id bigint generated always as identity primary key,
  created_at timestamptz(3) not null default now(),
  -- cli, key or console
  actor_kind text not null,
  -- The login or the name that the person gave; the id of an API key; the user of the console.
  actor text not null,
  action text not null,
  -- Null: the action is about the whole installation.
  account_id text,
  -- The id of what was changed, or the name of a setting.
  target text not null,
  webhook_id text,
  count integer not null,
  before jsonb,
  after jsonb,
  note text
);
create index audit_of_account on audit (account_id, created_at, id);
create index audit_of_actor on audit (actor, created_at, id);
create index audit_of_target on audit (target, created_at, id);
create index audit_of_action on audit (action, created_at, id);
create index audit_by_age on audit (greatest(created_at, '-infinity'), id);
