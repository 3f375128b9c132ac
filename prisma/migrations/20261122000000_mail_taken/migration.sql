-- Since when a worker has a message in hand: a lease that ran out untaken is told from one that a worker held.

alter table email_sends add column taken_at timestamptz;
