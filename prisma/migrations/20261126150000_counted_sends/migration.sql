-- Live mail from an inbox's address in the last hour, for the limit of the address. It outlives the inbox.
create table counted_sends (
  id text primary key, -- the email, or the inbox that was deleted
  account_id text not null,
  address text not null,
  messages smallint not null, -- 0: the inbox was deleted then
  counted_at timestamptz(3) not null
);
create index counted_sends_of_address on counted_sends (account_id, address, counted_at);
create index counted_sends_by_age on counted_sends (counted_at);
