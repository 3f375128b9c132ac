import { DURATION_BOUNDS_MS } from '@postrider/domain';

/** Webhooks in one step. */
export const WEBHOOKS_PER_STEP = 500;
/** Minutes of the log that a pass adds up at most: the bound of a step while the relay catches up. */
const MINUTES_PER_PASS = 5;
/** A new installation, or one that was upgraded, adds up the last day. Plots show as much. */
const FIRST_PASS_FROM = `date_trunc('hour', now(), 'utc') - interval '24 hours'`;
/**
 * A minute is added up this long after its end, so that attempts up to the default timeout of 10 s are in.
 * Slower ones follow when the minute is settled.
 */
const SUMMED_AFTER = `interval '15 seconds'`;

/**
 * An SQL array with an expression for each bucket of a histogram. Buckets count from 0, SQL arrays from 1.
 */
function buckets(expression: (bucket: number) => string): string {
  return `array[${DURATION_BOUNDS_MS.concat(Infinity)
    .map((_, bucket) => expression(bucket))
    .join(', ')}]`;
}

/** A minute in UTC, or an hour. */
const startOf = (unit: 'minute' | 'hour', time: string): string => `date_trunc('${unit}', ${time}, 'utc')`;

export const MAKE_PROGRESS = `
  insert into attempt_sums (settled_until, summed_until) values (${FIRST_PASS_FROM}, ${FIRST_PASS_FROM})
  on conflict do nothing`;

/** Another relay that holds the row does the work. Its step lasts some milliseconds. */
export const LOCK_PROGRESS = `
  select settled_until as "settledUntil", summed_until as "summedUntil", next_settled_until as "nextSettledUntil",
         next_summed_until as "nextSummedUntil", last_webhook_id as "lastWebhookId"
  from attempt_sums for update skip locked`;

/**
 * Begins a pass over all webhooks, unless no minute has ended since the last. $1 the time before which no
 * attempt can still appear; null: unknown.
 */
export const BEGIN_PASS = `
  update attempt_sums
  set next_settled_until = settled, next_summed_until = greatest(settled, summed), last_webhook_id = ''
  from (select greatest(settled_until, least(coalesce($1::timestamptz, settled_until),
                                             settled_until + make_interval(mins => ${MINUTES_PER_PASS}))),
               greatest(summed_until, least(${startOf('minute', `now() - ${SUMMED_AFTER}`)},
                                            summed_until + make_interval(mins => ${MINUTES_PER_PASS})))
        from attempt_sums) next (settled, summed)
  where settled > settled_until or summed > summed_until
  returning settled_until as "settledUntil", summed_until as "summedUntil", next_settled_until as "nextSettledUntil",
            next_summed_until as "nextSummedUntil", last_webhook_id as "lastWebhookId"`;

/** $1 the last webhook of the step. */
export const CONTINUE_PASS = `update attempt_sums set last_webhook_id = $1`;

export const END_PASS = `
  update attempt_sums
  set settled_until = next_settled_until, summed_until = next_summed_until,
      next_settled_until = null, next_summed_until = null, last_webhook_id = null`;

/**
 * The transactions that write the log now: each holds this lock until its attempts can be seen. $1 seconds
 * after which a minute is settled, unless such a transaction is still open.
 */
export const WRITERS = `
  select ${startOf('minute', 'now() - make_interval(secs => $1)')} as until,
         array(select virtualtransaction from pg_locks
               where relation = 'attempts'::regclass and mode = 'RowExclusiveLock'
                 and database = (select oid from pg_database where datname = current_database())) as ids`;

/**
 * Adds up the attempts of the next webhooks, in the given spans.
 *
 * Guarantee: each minute of the spans counts its attempts in the log, and each hour counts its minutes
 * once. A minute is counted anew from the log. Its hour gets the difference, in the same
 * transaction. So a repeated step changes nothing. The caller holds the row of the progress.
 *
 * Webhooks with attempts are locked, so that a removal waits, and then deletes what the step wrote.
 *
 * $1 the webhook to start after, $2 and $3 starts and ends of the spans, $4 and $5 the first start and the
 * last end: with them the planner leaves out the other days of the log.
 */
export const SUM_ATTEMPTS = `
  with page as materialized (
    select w.id from webhooks w where w.id > $1 and w.removed_at is null order by w.id limit ${WEBHOOKS_PER_STEP}
  ),
  counted as materialized (
    select p.id as webhook_id, c.*
    from page p
    cross join unnest($2::timestamptz[], $3::timestamptz[]) span (since, until)
    cross join lateral (
      select ${startOf('minute', 'a.started_at')} as begins_at, count(*)::int as attempts,
             (count(*) filter (where a.succeeded))::int as successes,
             ${buckets((bucket) => `(count(*) filter (where a.bucket = ${bucket}))::int`)} as durations,
             max(a.duration_ms) as slowest_ms,
             max(a.started_at) filter (where a.succeeded) as success_at,
             max(a.started_at) filter (where not a.succeeded) as failure_at
      from (
        select l.started_at, l.duration_ms, coalesce(l.status between 200 and 299, false) as succeeded,
               width_bucket(l.duration_ms, '{${DURATION_BOUNDS_MS.join(',')}}'::int[]) as bucket
        from attempts l
        where l.webhook_id = p.id and l.started_at >= span.since and l.started_at < span.until
          and l.started_at >= $4::timestamptz and l.started_at < $5::timestamptz
        offset 0
      ) a
      group by 1
    ) c
  ),
  kept as materialized (
    select w.id from webhooks w
    where w.id = any (array(select distinct webhook_id from counted)) and w.removed_at is null
    order by w.id
    for key share
  ),
  changed as materialized (
    select c.*, old.attempts as old_attempts, old.successes as old_successes, old.durations as old_durations
    from counted c
    left join lateral (
      select * from attempts_by_minute m where m.webhook_id = c.webhook_id and m.begins_at = c.begins_at offset 0
    ) old on true
    where c.webhook_id = any (array(select id from kept))
      and (c.attempts, c.successes, c.durations) is distinct from (old.attempts, old.successes, old.durations)
  ),
  minutes as (
    insert into attempts_by_minute (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
    select webhook_id, begins_at, attempts, successes, durations, slowest_ms from changed
    on conflict (webhook_id, begins_at) do update
    set attempts = excluded.attempts, successes = excluded.successes, durations = excluded.durations,
        slowest_ms = excluded.slowest_ms
  ),
  hours as (
    insert into attempts_by_hour as h (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
    select webhook_id, ${startOf('hour', 'begins_at')}, sum(attempts - coalesce(old_attempts, 0)),
           sum(successes - coalesce(old_successes, 0)),
           ${buckets((bucket) => `sum(durations[${bucket + 1}] - coalesce(old_durations[${bucket + 1}], 0))`)},
           max(slowest_ms)
    from changed
    group by 1, 2
    on conflict (webhook_id, begins_at) do update
    set attempts = h.attempts + excluded.attempts, successes = h.successes + excluded.successes,
        durations = ${buckets((bucket) => `h.durations[${bucket + 1}] + excluded.durations[${bucket + 1}]`)},
        slowest_ms = greatest(h.slowest_ms, excluded.slowest_ms)
  ),
  health as (
    insert into webhook_health as k (webhook_id, last_success_at, last_failure_at)
    select webhook_id, max(success_at), max(failure_at) from changed group by 1
    on conflict (webhook_id) do update
    set last_success_at = greatest(k.last_success_at, excluded.last_success_at),
        last_failure_at = greatest(k.last_failure_at, excluded.last_failure_at)
  )
  select max(id) as last, count(*)::int as webhooks from page`;
