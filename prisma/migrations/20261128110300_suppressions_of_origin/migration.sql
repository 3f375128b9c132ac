-- no transaction
-- The suppressions of an account that have one origin, as a page of the list shows them. Only the statement of that
-- page names the expression, so no plan of another statement uses this index.
create index concurrently if not exists suppressions_of_origin
  on suppressions (greatest(account_id, ''), origin, created_at desc, id desc);
