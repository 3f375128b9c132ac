-- busy table
-- What earlier attempts left of a message: copies that the provider did not confirm, and the recipients that it deferred.
alter table email_sends add column unconfirmed smallint not null default 0, add column rest text[];
