-- A worker holds an advisory lock on its number. Null: it is of a release without numbers.
alter table workers add column number integer;
