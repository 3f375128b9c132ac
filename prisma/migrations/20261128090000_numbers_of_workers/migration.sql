-- busy table
-- The worker that took a delivery. Null: nobody has taken it under its present lease, or a worker without a number has.
alter table deliveries add column worker integer;
-- A worker holds an advisory lock on its number. Null: it is of a release without numbers.
alter table workers add column number integer;
