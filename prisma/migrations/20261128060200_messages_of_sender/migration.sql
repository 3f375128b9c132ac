-- no transaction
-- The messages of a sender, over all accounts. The header may hold any text, so the address is cut: an index entry is limited.
create index concurrently if not exists messages_of_sender
  on messages (left(lower(rtrim(substring(from_address from '[^<]*$'), '>')), 320), created_at desc, id desc);
