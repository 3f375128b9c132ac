import type { Statement } from '../statement.ts';

/**
 * Turns deliveries into dead letters, each with its event.
 *
 * Guarantee: as finish-done: fenced by the claim, locked in the order of ids. A refusal made no request: it counts no
 * attempt and is not logged as one. status_code is the last answer's, also when this attempt got none.
 *
 * $1 delivery ids, $2 claims held, $3 attempt's start in ms ago, $4 duration in ms, $5 status or null,
 * $6 answer's first bytes, $7 error, $8 dead-letter ids, $9 reasons, $10 requests made this time (0 or 1).
 * Returns the deliveries ended.
 */
export const finishDead: Statement = {
  name: 'finish-dead',
  text: `
    with u as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::float8[], $4::int[], $5::smallint[], $6::bytea[],
                           $7::text[], $8::text[], $9::text[], $10::smallint[])
        u (id, claim, started_ago, duration, status, answer, error, letter_id, reason, requests)
    ),
    mine as materialized (
      select u.*, d.event_id, d.webhook_id, d.attempts, d.last_status
      from deliveries d
      join u on u.id = d.id and u.claim = d.claim
      where d.id = any ($1::bigint[])
      order by d.id
      for update of d
    ),
    gone as (
      delete from deliveries d where d.id = any (array(select id from mine))
    ),
    letters as (
      insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data,
                                attempts, reason, last_error, status_code)
      select m.letter_id, e.account_id, m.webhook_id, m.event_id, e.type, e.created_at, e.data,
             m.attempts + m.requests, m.reason::dead_letter_reason, m.error, coalesce(m.status, m.last_status)
      from mine m
      cross join lateral (select * from events where id = m.event_id offset 0) e
    ),
    logged as (
      insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer)
      select now() - make_interval(secs => m.started_ago / 1000), m.id, m.event_id, m.webhook_id, m.attempts + 1,
             m.duration, m.status, m.error, m.answer
      from mine m
      where m.requests > 0
    )
    select id from mine`,
};
