import { statement } from '../../db/statement.ts';

/*
 * How attempts end. Each statement takes a batch and returns the ids of the deliveries that it changed.
 *
 * Guarantee of all four, the fence: a row is changed only while its claim, its event and its webhook are the
 * given ones. After a restore or a failover, the sequence gives the same ids to other rows. Rows are locked
 * in the order of their ids, so two workers cannot deadlock.
 *
 * Rows are written by the ids of the locked rows (`any (array(…))`), in one pass. A join with the locked rows
 * would scan them once for each row: a plan for any number of ids expects few.
 *
 * $1 to $9 describe the attempts: $1 delivery ids, $2 claims, $3 events, $4 webhooks, $5 start in ms ago,
 * $6 duration in ms, $7 status codes or nulls, $8 first bytes of the answers, $9 event types.
 */

/**
 * Whether the row is for the given event and webhook. No index serves this form of a comparison, so Postgres
 * finds the row by its id.
 */
const isSameDelivery = (given: string): string =>
  `(${given}.event_id, ${given}.webhook_id) is not distinct from (d.event_id, d.webhook_id)`;

/**
 * The CTE `held`: the attempts that match their row, with its columns `attempts`, `last_status` and
 * `recovery_id`.
 *
 * @param more names and types of the columns after the nine that all statements share, $10 first.
 */
function held(more: readonly (readonly [column: string, type: string])[] = []): string {
  const columns = more.map(([column]) => `, ${column}`).join('');
  const arrays = more.map(([, type], index) => `, $${index + 10}::${type}[]`).join('');
  return `
    given as materialized (
      select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[],
                           $5::float8[], $6::int[], $7::smallint[], $8::bytea[], $9::text[]${arrays})
        g (id, claim, event_id, webhook_id, started_ago, duration, status, answer, type${columns})
    ),
    held as materialized (
      select given.*, d.attempts, d.last_status, d.recovery_id
      from deliveries d
      join given on given.id = d.id and given.claim = d.claim and ${isSameDelivery('given')}
      where d.id = any ($1::bigint[])
      order by d.id
      for update of d
    )`;
}

const GONE = `
    gone as (
      delete from deliveries d where d.id = any (array(select id from held))
    )`;

/** Counts deliveries of recoveries. No other delivery costs a row. */
function countOutcome(outcome: 'delivered' | 'failed'): string {
  const counts = outcome === 'delivered' ? 'count(*), 0' : '0, count(*)';
  return `
    counted as (
      insert into recovery_outcomes (recovery_id, delivered, failed)
      select h.recovery_id, ${counts} from held h where h.recovery_id is not null group by h.recovery_id
    )`;
}

/** Logs the held attempts. @param error the column with the errors, or null. */
function logAttempts(error: 'h.error' | 'null'): string {
  return `
    insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
    select now() - make_interval(secs => h.started_ago / 1000), h.id, h.event_id, h.webhook_id, h.attempts + 1,
           h.duration, h.status, ${error}, h.answer, h.type
    from held h`;
}

/** Ends deliveries that a 2xx answered: it removes the rows and logs the attempts. $1 to $9 as above. */
export const finishDone = statement('finish-done')`
    with ${held()},${GONE},${countOutcome('delivered')}
    ${logAttempts('null')}
    returning delivery_id as id`;

/**
 * Puts deliveries back whose attempt failed, and logs the attempts.
 *
 * $1 to $9 as above, $10 errors, $11 times until they are due again in ms.
 */
export const finishRetry = statement('finish-retry')`
    with ${held([
      ['error', 'text'],
      ['due_in', 'float8'],
    ])},
    back as (
      update deliveries d
      set attempts = d.attempts + 1, claim = d.claim + 1, leased_until = null, taken_at = null,
          (last_status, due_at) = (
            select coalesce(h.status, d.last_status), now() + make_interval(secs => h.due_in / 1000)
            from held h where h.id = d.id
          )
      where d.id = any (array(select id from held))
    )
    ${logAttempts('h.error')}
    returning delivery_id as id`;

/**
 * Turns deliveries into dead letters, each with its event, and logs the attempts. A refusal made no request:
 * it counts no attempt and logs none. The letter's status code is that of the last answer, also when this
 * attempt got no answer.
 *
 * $1 to $9 as above, $10 errors, $11 dead-letter ids, $12 reasons, $13 requests made (0 or 1).
 */
export const finishDead = statement('finish-dead')`
    with ${held([
      ['error', 'text'],
      ['letter_id', 'text'],
      ['reason', 'text'],
      ['requests', 'smallint'],
    ])},${GONE},${countOutcome('failed')},
    letters as (
      insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data,
                                attempts, reason, last_error, status_code)
      select h.letter_id, e.account_id, h.webhook_id, h.event_id, e.type, e.created_at, e.data,
             h.attempts + h.requests, h.reason::dead_letter_reason, h.error, coalesce(h.status, h.last_status)
      from held h
      cross join lateral (select * from events where id = h.event_id offset 0) e
    ),
    logged as (${logAttempts('h.error')}
      where h.requests > 0
    )
    select id from held`;

/**
 * Removes deliveries whose event is gone. There is nothing to send, and their leases would expire again and
 * again. A recovery counts them as failed.
 *
 * Guarantee: a delivery whose event exists is never removed.
 *
 * $1 to $4 as above.
 */
export const endOrphans = statement('end-orphans')`
    with held as materialized (
      select d.id, d.recovery_id
      from deliveries d
      join unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) u (id, claim, event_id, webhook_id)
        on u.id = d.id and u.claim = d.claim and ${isSameDelivery('u')}
      where d.id = any ($1::bigint[])
        and (select true from events e where e.id = d.event_id limit 1) is null
      order by d.id
      for update of d
    ),${GONE},${countOutcome('failed')}
    select id from held`;
