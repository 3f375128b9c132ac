-- The address in From as `senderAddress` writes it. Null for a message that was stored before this column was there.
alter table messages add column sender text;
