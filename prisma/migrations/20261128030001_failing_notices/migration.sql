-- busy table
-- noticed_failing: the state of the last notice. A notice is due while the webhook's state differs from it.
-- failing_notice_at: when Postrider sent the last notice that the webhook fails.
-- recovered_at: since when the webhook is well again. Null: it fails, or it has been well since before the column.
alter table webhooks
  add column noticed_failing boolean not null default false,
  add column failing_notice_at timestamptz(3),
  add column recovered_at timestamptz(3);
