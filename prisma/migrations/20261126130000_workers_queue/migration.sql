-- The queue that a worker takes jobs from. A relay compares it with its own queue. Null: the worker is of a release that
-- does not write it. A null id beside a kind: the worker cannot read its queue.

alter table workers
  add column queue_kind text,
  add column queue_prefix text,
  add column queue_id text;
