-- busy table
-- The inbox that gets the mail to postmaster. Only the catalogue changes for inboxes.
alter table inboxes add column postmaster boolean not null default false;

-- Addresses on shared domains whose inbox or routing rule was deleted. For 30 days, no other account gets such an address.
create table released_addresses (
  address text primary key,
  account_id text not null,
  released_at timestamptz(3) not null
);
create index released_addresses_by_age on released_addresses (released_at);
