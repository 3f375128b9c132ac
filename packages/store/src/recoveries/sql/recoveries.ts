import { statement } from '../../db/statement.ts';

/** The columns of a recovery, with the outcomes that no step has added up yet. */
export const SHOWN = `
    r.id, r.webhook_id as "webhookId", r.since, r.until, r.types, r.undelivered_only as "undeliveredOnly", r.rate,
    r.matched, r.dead_letters as "deadLetters", r.has_more as "hasMore", r.queued,
    r.delivered + o.delivered as delivered, r.failed + o.failed as failed,
    r.created_at as "createdAt", r.ended_at as "endedAt", r.stopped, r.dead_letters_only as "deadLettersOnly",
    r.reason::text as reason`;

/** The outcomes of the recovery `r`. */
export const OUTCOMES = `
    cross join lateral (
      select coalesce(sum(x.delivered), 0)::int as delivered, coalesce(sum(x.failed), 0)::int as failed
      from recovery_outcomes x where x.recovery_id = r.id
    ) o`;

/**
 * Starts a recovery. The statement waits for a running DELETE of the webhook, and then locks the webhook.
 *
 * $1 id, $2 account, $3 webhook, $4 since, $5 until, $6 types, $7 whether only undelivered events are sent,
 * $8 rate, $9 matched, $10 dead letters, $11 has more, $12 the position before the first event, $13 the last
 * position, $14 the moment of the count, $15 whether only dead letters are sent, $16 their reason or null.
 * Returns no row when the webhook is gone, or has a recovery that runs.
 */
export const insertRecovery = statement('insert-recovery')`
    with owner as materialized (
      select w.id, w.account_id from webhooks w where w.id = $3 and w.account_id = $2 and w.removed_at is null
      for key share of w
    )
    insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters,
                            has_more, position, last_position, created_at, dead_letters_only, reason)
    select $1, owner.account_id, owner.id, $4::timestamptz, $5::timestamptz, $6::text[], $7::boolean, $8::int, $9::int, $10::int,
           $11::boolean, $12::bigint, $13::bigint, $14::timestamptz, $15::boolean, $16::dead_letter_reason
    from owner
    on conflict (webhook_id) where ended_at is null do nothing
    returning id`;

/** $1 account, $2 webhook. Returns the id of the webhook's recovery that runs. */
export const findRunning = statement('find-running-recovery')`
    select id from recoveries where webhook_id = $2 and account_id = $1 and ended_at is null`;

/** A webhook that is being removed reads as missing. $1 account, $2 webhook, $3 recovery. */
export const findRecovery = statement('find-recovery')`
    select ${SHOWN}
    from recoveries r ${OUTCOMES}
    where r.id = $3 and r.webhook_id = $2 and r.account_id = $1
      and (select true from webhooks w where w.id = r.webhook_id and w.removed_at is null)`;

/** The newest first. $1 account, $2 webhook, $3 time and $4 id of the recovery before the page, $5 rows. */
export const listRecoveries = statement('list-recoveries')`
    select ${SHOWN}
    from (
      select * from recoveries
      where webhook_id = $2 and account_id = $1 and (created_at, id) < ($3::timestamptz, $4::text)
      order by created_at desc, id desc limit $5
    ) r ${OUTCOMES}
    order by r.created_at desc, r.id desc`;

/** Waits for a step that runs. $1 account, $2 webhook, $3 recovery. Returns no row when it has ended. */
export const stopRecovery = statement('stop-recovery')`
    update recoveries set ended_at = now(), stopped = true
    where id = $3 and webhook_id = $2 and account_id = $1 and ended_at is null
    returning queued`;

/**
 * Finds the running recoveries that wait longest: one of each account, the longest wait first.
 * An account with many recoveries does not delay others: it gets one step in each run.
 *
 * $1 rows. Also returns the time until the next step is due, in milliseconds.
 */
export const nextRecoveries = statement('next-recoveries')`
    select x.id, x.account_id as "accountId",
           greatest(0, extract(epoch from x.next_step_at - now()) * 1000)::float8 as "dueInMs"
    from (
      select distinct on (r.account_id) r.id, r.account_id, r.next_step_at from recoveries r
      where r.ended_at is null
      order by r.account_id, r.next_step_at
    ) x
    order by x.next_step_at
    limit $1`;

/** Puts off the next step of a recovery. $1 recovery, $2 seconds. */
export const putOffRecovery = statement('put-off-recovery')`
    update recoveries set next_step_at = now() + make_interval(secs => $2) where id = $1`;

/**
 * Locks a recovery for its step, if the step is due. Skips a recovery while another relay runs its step. $1
 * recovery. Returns what the step needs.
 */
export const lockRecovery = statement('lock-recovery')`
    select account_id as "accountId", webhook_id as "webhookId", since, until, types, undelivered_only as "undeliveredOnly",
           rate, position::text as position, last_position::text as "lastPosition", created_at as "asOf",
           dead_letters_only as "deadLettersOnly", reason::text as reason
    from recoveries where id = $1 and ended_at is null and next_step_at <= now()
    for no key update skip locked`;

/**
 * Waits for a running DELETE of the webhook, and then locks the webhook of a recovery. $1 account, $2
 * webhook. Returns no row when the webhook is gone. Also returns whether the account is suspended.
 */
export const lockRecoveredWebhook = statement('lock-recovered-webhook')`
    select w.subject, w.events, coalesce(w.domains, '{}') as domains, w.created_at as "createdAt", w.failing_since is not null as failing,
           coalesce((select a.suspended_at is not null from accounts a where a.id = w.account_id), false) as suspended
    from webhooks w where w.id = $2 and w.account_id = $1 and w.removed_at is null for key share of w`;

/**
 * The deliveries of a webhook that fresh events have to wait for: due, and not taken by a worker.
 *
 * $1 webhook, $2 the number at which the count ends.
 */
export const countWaiting = statement('count-waiting')`
    select count(*)::int as waiting
    from (
      select from deliveries d where d.webhook_id = $1 and d.due_at <= now() and d.taken_at is null
      order by d.due_at limit $2
    ) x`;

/**
 * Records a step, and moves up to 1,000 outcomes into the sums. A recovery that is late catches up by one
 * second at most.
 *
 * $1 recovery, $2 the last event looked at, $3 events queued, $4 seconds until the next step, $5 whether it
 * was the last step, $6 whether the recovery is stopped.
 */
export const recordStep = statement('record-step')`
    with ended as (
      delete from recovery_outcomes where id = any (array(
        select id from recovery_outcomes where recovery_id = $1 limit 1000 for update skip locked))
      returning delivered, failed
    ),
    sums as (select coalesce(sum(delivered), 0) as delivered, coalesce(sum(failed), 0) as failed from ended)
    update recoveries r
    set position = $2, queued = r.queued + $3, delivered = r.delivered + sums.delivered, failed = r.failed + sums.failed,
        next_step_at = greatest(r.next_step_at, now() - interval '1 s') + make_interval(secs => $4),
        ended_at = case when $5 or $6 then now() end, stopped = $6
    from sums
    where r.id = $1`;
