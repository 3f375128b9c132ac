import { statement } from '../../db/statement.ts';
import { emailIdOf, hasPosition, IN_RANGE } from './list-events.ts';

/**
 * Counts the account's events by type, and again by type, period, domain and message.
 *
 * Cost: it reads at most $7 events, whatever their types, and does not keep their column `data`. The caller
 * refuses a range with $7 events or more. So it does not matter which ones are read: for such a range,
 * nothing is sorted and nothing is looked up.
 *
 * $1 account, $2 types, $3 and $4 the position before the range and its last one, $5 and $6 since and until,
 * $7 maximum number of events, $8 `hour`, `day`, `week` or `month` (null: no period), $9 time zone, $10
 * whether by domain, $11 whether by message, $12 domains and $13 messages to which the count is limited
 * (null: all), $14 maximum number of combinations of period, domain and message.
 *
 * Returns a row with `isTotal` for each type, and a row for each type and combination. The type `any_bounce`
 * counts bounces of both kinds, because a message may have both. `isWhole` is false when the range has $7
 * events or more. The last row counts no events: it has `isWhole` even for an empty range.
 */
export const countEvents = statement('count-events')`
    with found as materialized (
      select r.type, r.created_at, r.email_id
      from unnest($2::text[]) t (type)
      cross join lateral (
        select e.type, e.created_at, ${emailIdOf('e')} as email_id from events e
        where e.account_id = $1 and e.type = t.type and ${hasPosition('e')} and ${IN_RANGE}
        order by e.position limit $7
      ) r
      limit $7
    ),
    placed as materialized (
      select e.type, e.email_id,
             case when $8::text is not null then date_trunc($8::text, e.created_at at time zone $9::text) end as period,
             d.id as domain_id, d.name as domain_name
      from found e
      left join lateral (
        select m.from_domain from emails m
        where m.id = e.email_id and m.account_id = $1 and ($10::bool or $12::text[] is not null) offset 0
      ) m on true
      left join lateral (
        select id, name from domains where name = m.from_domain and account_id = $1 offset 0
      ) d on true
      where (select count(*) from found) < $7
        and ($12::text[] is null or d.id = any ($12::text[])) and ($13::text[] is null or e.email_id = any ($13::text[]))
    ),
    counted as materialized (
      select p.* from placed p
      union all
      select 'any_bounce', p.email_id, p.period, p.domain_id, p.domain_name
      from placed p where p.type in ('email.bounced', 'email.soft_bounced')
    )
    select p.type, true as "isTotal", null as period, null as "domainId", null as "domainName", null as "emailId",
           count(*)::int as events, count(distinct p.email_id)::int as emails,
           (select count(*) from found) < $7 as "isWhole"
    from counted p group by p.type
    union all
    select g.type, false, to_char(g.period, 'YYYY-MM-DD"T"HH24:MI:SS'), g.domain_id, g.domain_name, g.email_id,
           g.events, g.emails, true
    from (
      select v.type, v.period, v.domain_id, v.domain_name, v.email_id,
             count(*)::int as events, count(distinct v.counted_id)::int as emails,
             dense_rank() over (order by v.period, v.domain_id, v.email_id) as place
      from (
        select p.type, p.period, p.email_id as counted_id, case when $10::bool then p.domain_id end as domain_id,
               case when $10::bool then p.domain_name end as domain_name,
               case when $11::bool then p.email_id end as email_id
        from counted p
        where $8::text is not null or $10::bool or $11::bool
      ) v
      group by v.type, v.period, v.domain_id, v.domain_name, v.email_id
    ) g
    where g.place <= $14
    union all
    select '', true, null, null, null, null, 0, 0, (select count(*) from found) < $7`;
