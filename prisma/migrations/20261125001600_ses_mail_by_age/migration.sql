-- no transaction

-- Whether mail that SES told of before an erasure still waits.
create index concurrently if not exists ses_mail_by_age on ses_mail (created_at);
