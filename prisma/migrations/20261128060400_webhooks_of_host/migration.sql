-- no transaction
-- The webhooks whose endpoint has a host.
create index concurrently if not exists webhooks_of_host
  on webhooks (substring(endpoint from '^https://([^/:?#]+)'), id);
