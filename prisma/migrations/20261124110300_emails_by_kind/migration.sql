-- no transaction
-- Mail of test keys, which see no other: few messages among any number of live ones.
create index concurrently if not exists emails_of_account_by_kind
  on emails (account_id, kind, created_at desc, id desc);
