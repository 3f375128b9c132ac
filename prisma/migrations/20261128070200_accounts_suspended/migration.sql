-- busy table
-- When the operator suspended an account. Null: it is not suspended.
alter table accounts add column suspended_at timestamptz(3);
