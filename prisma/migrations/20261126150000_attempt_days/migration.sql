-- A day of the attempt log is a partition. Only the owner of the log may make and drop one, and a relay need not be the
-- owner. So the relay calls these functions. They run with the rights of the owner, whoever calls them. They take a day
-- and no name. The log has seven days ahead, so a relay may be down for a week. It keeps two days at the least.
--
-- One relay at a time changes partitions (advisory lock).
--
-- While a function waits for the log's lock, every worker that logs an attempt queues behind it. 100 ms is long enough
-- for transactions that write an outcome (milliseconds). A reader such as pg_dump takes longer: then the relay
-- tries again later. Once the log is locked, nothing else is waited for (`nowait`).
--
-- Names are qualified, and pg_temp is searched last. So a caller cannot put another table in the place of one.

-- Attaches the partition of a day in UTC. Returns false when there is nothing to do.
--
-- After the relay was down for more than a week, the default partition holds rows of that day. They are moved, because
-- Postgres refuses a partition whose rows are in the default. Workers that log an attempt meanwhile wait at the whole log.
-- If they waited at the default partition, their row would no longer belong there afterwards, and the insert would fail.
--
-- On two cores with a load of 19, moving 5,000 rows took 0.45 s. A day with over 2,000 such rows gets no partition. Its
-- attempts stay in the default, and retention deletes them there.
create function make_attempts_day(day date) returns boolean language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  today constant date := (now() at time zone 'utc')::date;
  name constant text := 'attempts_' || to_char(day, 'YYYYMMDD');
  begins constant text := to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00';
  ends constant text := to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00';
begin
  -- Yesterday: midnight may fall between the relay's look and its call.
  if day is null or day not between today - 1 and today + 7 then
    raise 'a day of the attempt log is made at most seven days ahead, not %', coalesce(day::text, 'null');
  end if;
  perform pg_advisory_xact_lock(72707370);
  if exists (select from pg_class where relnamespace = 'public'::regnamespace and relname = name) then return false; end if;
  perform from public.attempts_default
    where greatest(started_at, '-infinity') >= begins::timestamptz and greatest(started_at, '-infinity') < ends::timestamptz
    order by greatest(started_at, '-infinity') offset 2000 limit 1;
  if found then return false; end if;

  execute format('create table public.%I (like public.attempts including defaults)', name);
  -- The full identity lets a publication for all tables delete rows, although the log has no key.
  execute format('alter table public.%I replica identity full', name);
  lock table only public.attempts in share row exclusive mode;
  lock table public.attempts_default in access exclusive mode nowait;
  execute format(
    'with moved as (delete from public.attempts_default
       where greatest(started_at, ''-infinity'') >= $1 and greatest(started_at, ''-infinity'') < $2 returning *)
     insert into public.%I select * from moved', name) using begins::timestamptz, ends::timestamptz;
  execute format('alter table public.attempts attach partition public.%I for values from (%L) to (%L)', name, begins, ends);
  return true;
end $$;

-- Drops the partition of a day in UTC, with its rows. Returns false when there is none.
-- Postgres locks the default partition, too, because its range changes.
create function drop_attempts_day(day date) returns boolean language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  today constant date := (now() at time zone 'utc')::date;
  name constant text := 'attempts_' || to_char(day, 'YYYYMMDD');
begin
  -- A day before Christ would have the name of one after.
  if day is null or day not between '2000-01-01' and today - 2 then
    raise 'the attempt log keeps today and yesterday, and has no day %', coalesce(day::text, 'null');
  end if;
  perform pg_advisory_xact_lock(72707370);
  if not exists (
    select from pg_inherits join pg_class on oid = inhrelid
    where inhparent = 'public.attempts'::regclass and relnamespace = 'public'::regnamespace and relname = name
  ) then
    return false;
  end if;
  lock table only public.attempts in access exclusive mode;
  execute format('lock table public.attempts_default, public.%I in access exclusive mode nowait', name);
  execute format('drop table public.%I', name);
  return true;
end $$;

revoke execute on function make_attempts_day, drop_attempts_day from public;
