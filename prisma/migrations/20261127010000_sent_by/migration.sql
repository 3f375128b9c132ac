-- busy table
-- The key and the `x-request-id` of the request that sent a message. Null: stored before there were the columns.
-- No foreign key: a send does not lock its key.
alter table emails add column api_key_id text, add column request_id text;
