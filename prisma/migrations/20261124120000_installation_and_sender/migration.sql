-- busy table
-- What holds for the whole installation, whatever a process's environment says: one row at the most.
-- Only the catalogue changes for emails: older rows keep a null until a worker takes them.

create type mail_provider as enum ('sandbox', 'smtp', 'ses');

create table installation (
  single boolean primary key default true check (single),
  mail_provider mail_provider not null
);

alter table emails add column from_domain text;
