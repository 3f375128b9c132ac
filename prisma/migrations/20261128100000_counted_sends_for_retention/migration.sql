-- no transaction
-- Retention finds old counts by this. No other statement uses the expression, so none reads the counts of all accounts by age.
create index concurrently if not exists counted_sends_for_retention on counted_sends (greatest(counted_at, '-infinity'));
drop index concurrently if exists counted_sends_by_age;
