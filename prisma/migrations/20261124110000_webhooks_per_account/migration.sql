-- busy table
-- How many webhooks the account may have; null: as many as WEBHOOKS_PER_ACCOUNT_MAX says.
alter table accounts add column webhooks_max integer;
