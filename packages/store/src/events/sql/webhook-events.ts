import { isOfDomains } from '../../db/sql/event-domains.ts';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';
import { byEmail, byRecipient, byType, emailIdOf } from './list-events.ts';

/** The CTE `log`: the first day of the attempt log. A log without days has never dropped a day: -infinity. */
export const LOG = `
    log as materialized (
      select coalesce(min(to_date(substr(c.relname, 10), 'YYYYMMDD')), '-infinity') as first_day
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'attempts'::regclass and c.relname ~ '^attempts_[0-9]{8}$'
    )`;

/**
 * A condition: the attempt `a` began after its event was recorded. Postgres then reads only these days of the
 * log. The margin is for clocks: processes dated the events of earlier releases, and a clock may be set back.
 *
 * @param createdAt when the event was recorded
 */
export const sinceEvent = (createdAt: string): string =>
  `a.started_at >= ${createdAt} - interval '10 minutes'`;

/** Replays add attempts without a limit, so logged attempts are counted up to here. */
const ATTEMPTS_COUNTED_MAX = 100;

/** The logged attempts `a` of the event `e` at a webhook. `attempts_of_event_at_webhook` has them by time. */
const attemptsAt = (webhook: string): string => `attempts a
      where a.event_id = e.id and greatest(a.webhook_id, '') = ${webhook}
        and ${sinceEvent('e.created_at')}`;

/**
 * The state of the event `e` at a webhook, as columns of `s`. `delivery` follows from the rows that are left:
 * an outstanding delivery, a dead letter, logged attempts. Without any, the delivery was dropped, or its
 * attempts are older than the log. These rows are found by the event. So conditions name the webhook in a
 * form that no index by the webhook alone has. `last_change_at` is the time of its dead letter or of its last
 * attempt.
 */
export const fateAt = (webhook: string): string => `
    cross join log
    left join lateral (
      select d.attempts, d.due_at, coalesce(d.taken_at <= now() and d.leased_until > now(), false) as in_attempt
      from deliveries d where d.event_id = e.id and greatest(d.webhook_id, '') = ${webhook}
      order by d.id + 0 limit 1 -- not by the index of ids
    ) d on true
    left join lateral (
      select l.id, l.attempts, l.created_at from dead_letters l
      where l.event_id = e.id and greatest(l.webhook_id, '') = ${webhook}
      order by l.created_at desc limit 1
    ) l on true
    left join lateral (
      select a.started_at, a.status from ${attemptsAt(webhook)}
      order by a.started_at desc, a.attempt desc limit 1
    ) a on true
    cross join lateral (
      select case
        when d.due_at is not null then 'queued'
        when l.id is not null then 'dead_letter'
        when a.status between 200 and 299 then 'delivered'
        when a.started_at is null and e.created_at < log.first_day at time zone 'utc' then 'unknown'
        else 'dropped'
      end as delivery
    ) f
    cross join lateral (
      select f.delivery, l.id as dead_letter,
             coalesce(d.attempts, l.attempts, (
               select count(*)::int from (select from ${attemptsAt(webhook)} limit ${ATTEMPTS_COUNTED_MAX}) n
             )) as attempts,
             case when not d.in_attempt then d.due_at end as next_attempt_at,
             greatest(l.created_at, a.started_at) as last_change_at,
             case
               when f.delivery = 'queued' and d.attempts = 0 and not d.in_attempt then 'pending'
               when f.delivery = 'queued' then 'attempting'
               when f.delivery in ('delivered', 'unknown') then 'success'
               else 'failed'
             end as status,
             a.started_at is not null or f.delivery in ('queued', 'dead_letter') as is_known
    ) s`;

/**
 * A condition: the event `e` is about mail of this routing rule, or the rule is null. Quotes in texts of the
 * data are escaped, so only the key itself matches.
 */
export const isOfRule = (rule: string): string =>
  `(${rule}::text is null or strpos(left(e.data, 400), '"rule_id":"' || ${rule}::text || '"') > 0)`;

/**
 * A condition: a webhook with this rule and these domains gets the event `e`, if it wants the event's type.
 */
export const isTaken = (rule: string, domains: string): string =>
  `${isOfRule(rule)} and ${isOfDomains('e.data', `${domains}::text[]`)}`;

/** The state of an event at a webhook, as `fateAt` has it. */
export const SHOWN_FATE = `s.status, s.delivery, s.attempts, s.dead_letter as "deadLetterId", s.next_attempt_at as "nextAttemptAt"`;

const SHOWN = `e.id, e.type, e.created_at as "createdAt", e.position::text as position,
           ${emailIdOf('e')} as "emailId", ${SHOWN_FATE}`;

/**
 * Reads a page of a webhook's events, the newest first. $1 to $7 and the following as in the query; then the
 * webhook, its routing rule or null, its domains or null, a status or null, and rows at most.
 *
 * With a rule, domains or a status, a page may be short: the query finds $7 events, and some fit. Each row
 * has the number of events found, and the position of the last one. Without a fitting event, one
 * row comes with these alone.
 *
 * @param before the number of parameters of the query
 */
function page(name: string, query: string, before: number): Statement {
  const behind = (n: number): string => `$${before + n}`;
  const [webhook, rule, domains, status, rowsMax] = [behind(1), behind(2), behind(3), behind(4), behind(5)];
  return statement(name)`
    with ${LOG},
    found as materialized (${query}
    ),
    fitting as (
      select ${SHOWN}, e.position as at
      from found e ${fateAt(webhook)}
      where ${isTaken(rule, domains)} and (${status}::text is null or s.status = ${status}::text)
      order by e.position desc
      limit ${rowsMax}
    )
    select t.found, t."foundTo", fitting.*
    from (select count(*)::int as found, min(position)::text as "foundTo" from found) t
    left join fitting on true
    order by fitting.at desc`;
}

export const listWebhookEvents = page('list-webhook-events', byType('desc'), 7);
export const listWebhookEventsOfEmail = page('list-webhook-events-of-email', byEmail('desc'), 9);
export const listWebhookEventsOfRecipient = page('list-webhook-events-of-recipient', byRecipient('desc'), 8);

/**
 * Reads an event with its state at a webhook. A dead letter has its own copy, for an event that retention has
 * dropped. Where both exist, they say the same.
 *
 * $1 account, $2 event, $3 webhook, $4 the webhook's types, $5 when the webhook was made, $6 its routing rule
 * or null, $7 its domains or null. Returns no row when the webhook neither gets the event nor has a row about
 * it.
 */
export const findWebhookEvent = statement('find-webhook-event')`
    with ${LOG},
    found as materialized (
      select id, type, created_at, data, position from events where id = $2 and greatest(account_id, '') = $1
      union all
      (select event_id, type, event_created_at, data, null from dead_letters
       where event_id = $2 and greatest(webhook_id, '') = $3 limit 1)
    )
    select ${SHOWN}, e.data
    from found e ${fateAt('$3')}
    where s.is_known
      or (e.type = any ($4::text[]) and e.created_at >= $5::timestamptz and ${isTaken('$6', '$7')})`;
