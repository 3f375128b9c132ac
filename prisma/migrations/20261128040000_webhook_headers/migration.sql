-- busy table
-- What the customer calls the webhook, and the headers that every attempt carries. The headers are JSON, sealed with the
-- key that `secret_key_id` names.
alter table webhooks add column description text, add column headers_sealed bytea;
