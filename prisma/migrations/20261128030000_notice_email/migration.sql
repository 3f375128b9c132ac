-- busy table
-- Where mail about the account's failing webhooks goes, as plainAddress writes it. Null: nowhere.
alter table accounts add column notice_email text;
