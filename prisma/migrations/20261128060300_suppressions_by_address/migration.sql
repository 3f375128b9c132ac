-- no transaction
-- The suppressions of an address, over all accounts.
create index concurrently if not exists suppressions_by_address on suppressions (address, created_at desc, id desc);
