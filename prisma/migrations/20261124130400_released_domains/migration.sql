-- Names that an operator has released, and that the provider may still have.
create table released_domains (
  name text primary key,
  released_at timestamp(3) with time zone not null default now()
);
