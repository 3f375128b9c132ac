import type { TestDatabase } from '@postrider/testing';
import type { Outage } from './outage.ts';

type Query = TestDatabase['query'];

/** A recovery that runs at the healthy webhook. */
export const RECOVERY = 'rec_01m8bb3ccasyqpwa2bzyfezvwq';
export const NOTICE_EMAIL = 'ops@shop.example.com';
/** Text of strangers that would run a script. */
export const HOSTILE_NAME = `<script>document.title='run'</script>`;

/** What happened before the outage: a day of attempts, keys, actions, a recovery and a release. */
export async function makeHistory({ query }: Pick<TestDatabase, 'query'>, outage: Outage): Promise<void> {
  const { accountId, failing, healthy } = outage;
  await query('update accounts set notice_email = $2 where id = $1', [accountId, NOTICE_EMAIL]);
  await query(
    `update webhooks set noticed_failing = true, failing_notice_at = now() - interval '85 minutes' where id = $1`,
    [failing],
  );
  await query(
    `insert into webhook_health (webhook_id, last_success_at, last_failure_at)
     values ($1, now() - interval '91 minutes', now())`,
    [failing],
  );
  await addHours(query, failing, 'case h when 0 then 0 when 1 then 1750 else 4995 end', 5_000);
  await addHours(query, healthy, '200', 200);
  await addMinute(query, outage);
  await query(
    `insert into api_keys (id, account_id, digest, kind, scopes, name, created_at, last_used_at, expires_at, revoked_at)
     select 'key_' || lpad(k.name, 26, '0'), $1, convert_to(k.name, 'UTF8'), 'live', '{emails:send}', k.name, now(),
            now() - interval '1 hour', k.expires_at, k.revoked_at
     from (values ('shop', null, null), ('ci', now() + interval '35 days 1 hour', null), ('gone', now() - interval '1 day', null),
                  ('old', null, now() - interval '9 days'), ($2, null, null)) k (name, expires_at, revoked_at)`,
    [accountId, HOSTILE_NAME],
  );
  await query(
    `insert into domains (id, account_id, name, region, status, records, created_at)
     values ('dom_00000000000000000000000001', $1, 'shop.example.com', 'eu', 'verified', '[]', now() - interval '30 days')`,
    [accountId],
  );
  await addRecovery(query, outage);
  await query(
    `insert into audit (created_at, actor_kind, actor, action, account_id, target, count, note)
     values (now() - interval '2 days', 'cli', 'root', 'account.limit', $1, $1, 1, $2),
            (now() - interval '3 days', 'key', 'key_0000000000000000000000shop', 'webhook.delete', $1, 'wh_gone', 1, null)`,
    [accountId, HOSTILE_NAME],
  );
}

/** The sums of 24 hours. @param successes of hour `h`, which counts back from now */
async function addHours(query: Query, webhookId: string, successes: string, attempts: number): Promise<void> {
  await query(
    `insert into attempts_by_hour (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
     select $1, date_trunc('hour', now()) - make_interval(hours => h), $2, ${successes},
            array_fill(0, array[7]) || case when h > 1 then array[$2::int, 0, 0, 0] else array[0, 0, 0, $2::int] end || array_fill(0, array[14]),
            230
     from generate_series(0, 23) h`,
    [webhookId, attempts],
  );
}

async function addMinute(query: Query, { failing, healthy }: Outage): Promise<void> {
  await query(
    `insert into attempt_sums select true, t, t from date_trunc('minute', now()) t
     on conflict (single) do update set settled_until = excluded.settled_until, summed_until = excluded.summed_until`,
  );
  await query(
    `insert into attempts_by_minute (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
     select w.id, s.summed_until - interval '1 minute', w.attempts, w.successes,
            array_fill(0, array[8]) || w.attempts || array_fill(0, array[16]), 118
     from attempt_sums s, (values ($1, 611, 0), ($2, 53, 53)) w (id, attempts, successes)`,
    [failing, healthy],
  );
}

async function addRecovery(query: Query, { accountId, healthy }: Outage): Promise<void> {
  await query(
    `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters, has_more,
                             position, last_position, created_at, queued, delivered, failed)
     values ($1, $2, $3, now() - interval '9 hours', now() - interval '1 hour', '{}', true, 200, 28412, 10000, false, 0, 0,
             now() - interval '86 s', 17240, 16902, 28)`,
    [RECOVERY, accountId, healthy],
  );
  await query(
    `insert into audit (created_at, actor_kind, actor, action, account_id, target, webhook_id, count, note)
     values (now() - interval '86 s', 'console', 'ada', 'recovery.start', $1, $2, $3, 28412, $4)`,
    [accountId, RECOVERY, healthy, `ticket 4809 ${HOSTILE_NAME}`],
  );
}
