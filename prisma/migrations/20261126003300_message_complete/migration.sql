-- False when a part of the message was not read. Its raw bytes have all of it.
alter table messages add column complete boolean not null default true;
