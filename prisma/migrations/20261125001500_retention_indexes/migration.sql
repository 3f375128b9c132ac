-- no transaction
-- Retention finds by these what is past its days. They are on an expression that equals the column and that lists do not use.
-- An index on the column itself has the order of a list: with old statistics Postgres read it, rows of all accounts included.
create index concurrently if not exists messages_for_retention on messages (greatest(created_at, '-infinity'));
drop index concurrently if exists messages_by_age;
create index concurrently if not exists inbox_threads_for_retention on inbox_threads (greatest(last_at, '-infinity'));
drop index concurrently if exists inbox_threads_by_age;
create index concurrently if not exists emails_for_retention on emails (greatest(created_at, '-infinity'));
drop index concurrently if exists emails_by_age;
create index concurrently if not exists dead_letters_for_retention on dead_letters (greatest(created_at, '-infinity'));
drop index concurrently if exists dead_letters_by_age;
create index concurrently if not exists attempts_default_for_retention on attempts_default (greatest(started_at, '-infinity'));
drop index concurrently if exists attempts_default_by_age;
