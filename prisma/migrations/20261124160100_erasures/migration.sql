-- busy table
-- Requests to forget a person. A row goes when nothing of that person is left.
create table erasures (
  account_id text not null references accounts (id) on delete cascade,
  -- As plainAddress writes it.
  address text not null,
  requested_at timestamptz not null default now(),
  -- What is older names the person nowhere any more.
  resume_from timestamptz(3) not null default '-infinity',
  -- When a relay looks next. A look that is under way holds the others off by it.
  due_at timestamptz not null,
  primary key (account_id, address)
);

-- Mail that an erasure has deleted, for as long as events may name it.
create table erased_emails (
  account_id text not null,
  address text not null,
  email_id text not null,
  primary key (account_id, address, email_id),
  foreign key (account_id, address) references erasures (account_id, address) on delete cascade
);
