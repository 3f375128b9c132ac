-- The functions that make and drop days take a lock of two ints. The former one, a bigint, could be the hash of a customer's
-- idempotency key. Nothing else of them changes.
-- A relay of the last release takes the former lock. Beside it, one pass may fail, and runs again.
do $$
declare
  name regprocedure;
begin
  foreach name in array '{make_attempts_day(date),drop_attempts_day(date)}'::regprocedure[] loop
    execute replace(pg_get_functiondef(name), 'pg_advisory_xact_lock(72707370)', 'pg_advisory_xact_lock(72707370, 0)');
  end loop;
end $$;
