-- no transaction
-- The failing webhooks of all accounts, for `status`, `top` and the console. Few fail at a time.
create index concurrently if not exists webhooks_failing on webhooks (failing_since) where failing_since is not null;
