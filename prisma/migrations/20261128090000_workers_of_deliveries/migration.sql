-- busy table
-- The worker that took a delivery. Null: nobody has taken it under its present lease, or a worker without a number has.
alter table deliveries add column worker integer;
