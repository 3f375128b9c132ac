-- Mail that SES received and told of, until an inbound process has taken it in. That a notification came is kept in
-- provider_notifications, for as long as SNS may repeat it.
create table ses_mail (
  -- SNS's id of the notification. Several receipt rules may tell of one message, each of its own recipients.
  notification_id text primary key,
  -- SES's id of the message.
  provider_message_id text not null,
  -- Of the envelope. '' is the null sender.
  source text not null,
  recipients text[] not null,
  -- As SES's `receipt` has them.
  verdicts json not null,
  -- The message itself, or the object in S3 that has it.
  content bytea,
  bucket text,
  key text,
  created_at timestamptz(3) not null default now(),
  -- When it may be claimed: a lease lies in the future.
  due_at timestamptz not null default now(),
  -- Counts claims; the last one may end the row.
  claim int not null default 0,
  check ((content is null) = (bucket is not null and key is not null))
);
create index ses_mail_due on ses_mail (due_at, notification_id);
