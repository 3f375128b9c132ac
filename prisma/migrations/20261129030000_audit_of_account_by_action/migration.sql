-- no transaction
-- The entries of an account with one action. An account may have millions with another. Only statements that name the
-- expression use this index.
create index concurrently if not exists audit_of_account_by_action on audit ((account_id || ' ' || action), created_at, id);
