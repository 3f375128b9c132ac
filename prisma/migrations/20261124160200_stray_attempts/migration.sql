-- no transaction
-- Attempts of days that had no partition, by age. The default partition is empty while a relay runs once a week.
create index concurrently if not exists attempts_default_by_age on attempts_default (started_at);
