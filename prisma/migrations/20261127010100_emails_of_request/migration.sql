-- no transaction
-- The messages of one request.
create index concurrently if not exists emails_of_request on emails (request_id) where request_id is not null;
