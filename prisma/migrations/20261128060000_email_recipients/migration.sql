-- The recipients of each message (to, cc, bcc), as keys of the address and of its domain, see `addressKey`. A message that
-- an earlier release stored has no rows here. No foreign key: the statements that delete a message delete its rows here.
create table email_recipients (
  email_id text not null,
  address_key bigint not null,
  domain_key bigint not null,
  primary key (email_id, address_key)
);
-- The messages to an address, or to all addresses of a domain, over all accounts. Ids sort by time.
create index email_recipients_of_address on email_recipients (domain_key, address_key, email_id);
