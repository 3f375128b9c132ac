-- no transaction
-- Domains that were never verified, by the age of their claims.
create index concurrently if not exists domains_never_verified on domains (claimed_at) where first_verified_at is null;
