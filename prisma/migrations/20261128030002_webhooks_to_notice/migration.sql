-- no transaction
-- The webhooks whose state differs from their last notice, those that have had it for the longest first. A
-- webhook with a failing notice of the last 24 hours comes behind them.
create index concurrently if not exists webhooks_to_notice on webhooks (greatest(
  coalesce(failing_since, recovered_at, '-infinity'::timestamptz) at time zone 'UTC',
  case when failing_since is not null then failing_notice_at at time zone 'UTC' + interval '24 hours' end
)) where (failing_since is not null) <> noticed_failing and removed_at is null;
