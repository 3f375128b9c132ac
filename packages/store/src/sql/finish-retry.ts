import type { Statement } from '../statement.ts';

/**
 * Puts deliveries back whose attempt failed: due again after the delay, counted from the end of the attempt.
 *
 * Guarantee: as finish-done: fenced by the claim, locked in the order of ids.
 *
 * $1 delivery ids, $2 claims held, $3 attempt's start in ms ago, $4 duration in ms, $5 status or null,
 * $6 answer's first bytes, $7 error, $8 delay in ms, $9 attempt's end in ms ago. Returns the deliveries put back.
 */
export const finishRetry: Statement = {
  name: 'finish-retry',
  text: `
    with u as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::float8[], $4::int[], $5::smallint[], $6::bytea[],
                           $7::text[], $8::float8[], $9::float8[])
        u (id, claim, started_ago, duration, status, answer, error, delay, ended_ago)
    ),
    mine as materialized (
      select u.*, d.event_id, d.webhook_id, d.attempts
      from deliveries d
      join u on u.id = d.id and u.claim = d.claim
      where d.id = any ($1::bigint[])
      order by d.id
      for update of d
    ),
    back as (
      update deliveries d
      set attempts = d.attempts + 1, claim = d.claim + 1, leased_until = null, taken_at = null,
          (last_status, due_at) = (
            select coalesce(m.status, d.last_status), now() + make_interval(secs => (m.delay - m.ended_ago) / 1000)
            from mine m where m.id = d.id
          )
      where d.id = any (array(select id from mine))
    )
    insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer)
    select now() - make_interval(secs => m.started_ago / 1000), m.id, m.event_id, m.webhook_id, m.attempts + 1,
           m.duration, m.status, m.error, m.answer
    from mine m
    returning delivery_id as id`,
};
