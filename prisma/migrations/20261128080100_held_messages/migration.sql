-- no transaction
-- The held messages of all accounts, the newest first. Few messages are held.
create index concurrently if not exists messages_held on messages (created_at desc, id desc) where status = 'held';
