-- no transaction
-- The messages of a sender, over all accounts. Postgres cannot write an international domain in ASCII, so the process does.
create index concurrently if not exists messages_by_plain_sender
  on messages (
    left(coalesce(sender, lower(rtrim(substring(from_address collate "C" from '[^<]*$'), '>'))), 320),
    created_at desc, id desc
  );

drop index concurrently if exists messages_by_sender;
