import type { Statement } from '../../db/statement.ts';

/**
 * Puts deliveries back whose attempt failed: due again after the delay, counted from the end of the attempt.
 *
 * Guarantee: as finish-done: fenced by claim, event and webhook, locked in the order of ids.
 *
 * $1 delivery ids, $2 claims held, $3 events, $4 webhooks, $5 attempt's start in ms ago, $6 duration in ms,
 * $7 status or null, $8 answer's first bytes, $9 types of the events, $10 error, $11 delay in ms, $12 attempt's end in ms ago.
 * Returns the deliveries put back.
 */
export const finishRetry: Statement = {
  name: 'finish-retry',
  text: `
    with u as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[],
                           $5::float8[], $6::int[], $7::smallint[], $8::bytea[], $9::text[],
                           $10::text[], $11::float8[], $12::float8[])
        u (id, claim, event_id, webhook_id, started_ago, duration, status, answer, type, error, delay, ended_ago)
    ),
    mine as materialized (
      select u.*, d.attempts
      from deliveries d
      join u using (id, claim, event_id, webhook_id)
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
    insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
    select now() - make_interval(secs => m.started_ago / 1000), m.id, m.event_id, m.webhook_id, m.attempts + 1,
           m.duration, m.status, m.error, m.answer, m.type
    from mine m
    returning delivery_id as id`,
};
