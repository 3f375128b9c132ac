-- no transaction
-- Mail of test keys, which see no other. It is on an expression that equals the account and that no other statement uses: counted
-- while an account had only live mail, Postgres read all of that in place of the index by kind.
create index concurrently if not exists emails_of_test_keys
  on emails (greatest(account_id, ''), created_at desc, id desc) where kind = 'test';
drop index concurrently if exists emails_of_account_by_kind;
