-- no transaction
-- The indexes by due time no longer name the columns by which rows are taken and ended. After Postgres has counted a table as empty,
-- all its indexes seem to cost the same, and it looked rows up by id through all entries of these.
create index concurrently if not exists deliveries_by_due_time on deliveries (webhook_id, due_at, greatest(id, 0));
drop index concurrently if exists deliveries_work;
create index concurrently if not exists email_sends_by_due_time on email_sends (due_at);
drop index concurrently if exists email_sends_due;
create index concurrently if not exists ses_mail_by_due_time on ses_mail (due_at);
drop index concurrently if exists ses_mail_due;
