-- busy table
-- A delivery is due from its insert on, not from its transaction's begin: a cause that takes a second records fresh events.
alter table deliveries alter column due_at set default clock_timestamp();
