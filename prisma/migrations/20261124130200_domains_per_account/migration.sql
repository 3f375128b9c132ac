-- busy table
-- How many domains the account may have, and how many that are not verified; null: as DOMAINS_PER_ACCOUNT_MAX and
-- UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX say.
alter table accounts
  add column domains_max integer,
  add column unverified_domains_max integer;
