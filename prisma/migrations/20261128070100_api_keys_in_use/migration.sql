-- busy table
-- What the operator calls a key, when it stops working, and the hour in which it was last used. Null: no name, it works
-- until it is revoked, never used.
alter table api_keys
  add column name text,
  add column expires_at timestamptz(3),
  add column last_used_at timestamptz(3);
