-- When the account was first found to own the domain; null: never, or before this column.
-- Since when a domain that was never verified keeps its name from others. Null: since before this column. An API process
-- of this release fills both for such a row.
alter table domains
  add column first_verified_at timestamp(3) with time zone,
  add column claimed_at timestamp(3) with time zone;
alter table domains alter column claimed_at set default now();
