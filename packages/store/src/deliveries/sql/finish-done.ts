import type { Statement } from '../../db/statement.ts';

/**
 * Ends deliveries that a 2xx answered: the rows go, the attempts are logged.
 *
 * Guarantee: only rows whose claim is still the one held are touched (the fence), and only those of the same event and
 * webhook: after a restore or a failover the sequence gives out ids again. Rows are locked in the order of their ids,
 * so that two workers cannot deadlock.
 *
 * The rows are then written by the ids of those locked (`any (array(…))`), which is one pass over them. Joined with what was
 * locked, Postgres went over all of them once for each: a plan for any number of ids takes them for few.
 *
 * $1 delivery ids, $2 claims held, $3 events, $4 webhooks, $5 attempt's start in ms ago, $6 duration in ms, $7 status,
 * $8 answer's first bytes, $9 types of the events. Returns the deliveries ended.
 */
export const finishDone: Statement = {
  name: 'finish-done',
  text: `
    with u as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[],
                           $5::float8[], $6::int[], $7::smallint[], $8::bytea[], $9::text[])
        u (id, claim, event_id, webhook_id, started_ago, duration, status, answer, type)
    ),
    mine as materialized (
      select u.*, d.attempts
      from deliveries d
      join u using (id, claim, event_id, webhook_id)
      where d.id = any ($1::bigint[])
      order by d.id
      for update of d
    ),
    gone as (
      delete from deliveries d where d.id = any (array(select id from mine))
    )
    insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, answer, type)
    select now() - make_interval(secs => m.started_ago / 1000), m.id, m.event_id, m.webhook_id, m.attempts + 1,
           m.duration, m.status, m.answer, m.type
    from mine m
    returning delivery_id as id`,
};
