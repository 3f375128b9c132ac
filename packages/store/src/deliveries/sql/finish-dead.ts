import type { Statement } from '../../db/statement.ts';

/**
 * Turns deliveries into dead letters, each with its event.
 *
 * Guarantee: as finish-done: fenced by claim, event and webhook, locked in the order of ids. A refusal made no request: it counts no
 * attempt and is not logged as one. status_code is the last answer's, also when this attempt got none.
 *
 * $1 delivery ids, $2 claims held, $3 events, $4 webhooks, $5 attempt's start in ms ago, $6 duration in ms,
 * $7 status or null, $8 answer's first bytes, $9 types of the events, $10 error, $11 dead-letter ids, $12 reasons,
 * $13 requests made (0 or 1).
 * Returns the deliveries ended.
 */
export const finishDead: Statement = {
  name: 'finish-dead',
  text: `
    with u as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[],
                           $5::float8[], $6::int[], $7::smallint[], $8::bytea[], $9::text[],
                           $10::text[], $11::text[], $12::text[], $13::smallint[])
        u (id, claim, event_id, webhook_id, started_ago, duration, status, answer, type, error,
           letter_id, reason, requests)
    ),
    mine as materialized (
      select u.*, d.attempts, d.last_status
      from deliveries d
      join u using (id, claim, event_id, webhook_id)
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
      insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer,
                            type)
      select now() - make_interval(secs => m.started_ago / 1000), m.id, m.event_id, m.webhook_id, m.attempts + 1,
             m.duration, m.status, m.error, m.answer, m.type
      from mine m
      where m.requests > 0
    )
    select id from mine`,
};
