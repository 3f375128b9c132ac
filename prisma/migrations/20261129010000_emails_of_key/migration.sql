-- no transaction
-- The messages that a key sent, the newest first. Only the statement of that look-up names the expression, so no plan
-- of another statement uses this index, and its own plan uses no other.
create index concurrently if not exists emails_of_key
  on emails (api_key_id, greatest(id, '') desc) where api_key_id is not null;
