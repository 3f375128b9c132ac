-- What domains and suppressions need beside their own tables.

-- A topic takes the suppressions about it along.
create index suppressions_of_topic on suppressions (topic_id) where topic_id <> '';

-- Why somebody is written to again who had complained: for the operator, who answers for it to the provider.
create table removed_complaints (
  suppression_id text primary key,
  account_id text not null references accounts (id) on delete cascade,
  address text not null,
  reason text not null,
  removed_at timestamptz(3) not null
);

-- Who is at work on a domain at the provider. A turn that nobody has given back, because of a crash, ends by itself.
create table domain_turns (
  name text primary key,
  holder text not null,
  ends_at timestamptz not null
);
