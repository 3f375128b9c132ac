import type { Statement } from '../statement.ts';

/**
 * Ends deliveries that a 2xx answered: the rows go, the attempts are logged.
 *
 * Guarantee: only rows whose claim is still the one held are touched (the fence); rows are locked in the order of
 * their ids, so that two workers cannot deadlock.
 *
 * The rows are then written by the ids of those locked (`any (array(…))`), which is one pass over them. Joined with what was
 * locked, Postgres went over all of them once for each: a plan for any number of ids takes them for few.
 *
 * $1 delivery ids, $2 claims held, $3 attempt's start in ms ago, $4 duration in ms, $5 status, $6 answer's first bytes.
 * Returns the deliveries ended.
 */
export const finishDone: Statement = {
  name: 'finish-done',
  text: `
    with u as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::float8[], $4::int[], $5::smallint[], $6::bytea[])
        u (id, claim, started_ago, duration, status, answer)
    ),
    mine as materialized (
      select u.*, d.event_id, d.webhook_id, d.attempts
      from deliveries d
      join u on u.id = d.id and u.claim = d.claim
      where d.id = any ($1::bigint[])
      order by d.id
      for update of d
    ),
    gone as (
      delete from deliveries d where d.id = any (array(select id from mine))
    )
    insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, answer)
    select now() - make_interval(secs => m.started_ago / 1000), m.id, m.event_id, m.webhook_id, m.attempts + 1,
           m.duration, m.status, m.answer
    from mine m
    returning delivery_id as id`,
};
