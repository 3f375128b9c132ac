-- no transaction, busy table
-- One postmaster at the most.
create unique index concurrently if not exists inboxes_postmaster on inboxes (postmaster) where postmaster;
