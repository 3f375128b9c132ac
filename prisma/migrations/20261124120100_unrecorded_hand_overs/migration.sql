-- busy table
-- How many hand-overs of a message have begun and were never recorded to have ended: the bound on faults of our own.

alter table email_sends add column unrecorded integer not null default 0;
