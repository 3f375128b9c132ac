-- no transaction
-- The lists of dead letters, of an account and of a webhook. A letter of another type or reason is passed over inside the
-- index. By the second, the letters of a webhook that match are counted, too, without their rows.
create index concurrently if not exists dead_letters_of_account_by_age
  on dead_letters (account_id, created_at desc, id desc, type, reason);
drop index concurrently if exists dead_letters_of_account;
create index concurrently if not exists dead_letters_of_webhook_by_age
  on dead_letters (webhook_id, created_at, id, type, reason);
drop index concurrently if exists dead_letters_of_webhook;
