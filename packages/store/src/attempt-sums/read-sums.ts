import { addDurations, p95Of } from '@postrider/domain';
import type { AccountId, Durations, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** A webhook's attempts in a span of time. */
export interface AttemptSum {
  readonly attempts: number;
  /** Attempts that a 2xx answered. */
  readonly successes: number;
  /** 95 of 100 attempts took no longer, in milliseconds. Null without attempts. */
  readonly p95Ms: number | null;
}

export interface AttemptHour extends AttemptSum {
  readonly beginsAt: Date;
}

/** A webhook's attempts of the last 24 hours. */
export interface AttemptDay extends AttemptSum {
  /** 24 entries, the oldest first. The last hour is not over. */
  readonly hours: readonly AttemptHour[];
}

/** A webhook that gets many attempts. */
export interface BusyWebhook extends AttemptSum {
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  readonly endpoint: string;
  /** Null: it does not count as failing. */
  readonly failingSince: Date | null;
}

export interface BusiestWebhooks {
  /** The sums cover whole minutes, up to this moment. Null: no relay has added any up yet. */
  readonly until: Date | null;
  /** The most attempts first. */
  readonly webhooks: readonly BusyWebhook[];
}

interface SumRow {
  readonly webhookId: WebhookId;
  readonly beginsAt: Date;
  readonly attempts: number;
  readonly successes: number;
  readonly durations: readonly number[];
  readonly slowestMs: number;
}

const HOUR_MS = 3_600_000;
const HOURS = 24;

const SUM_COLUMNS = `s.begins_at as "beginsAt", s.attempts, s.successes, s.durations, s.slowest_ms as "slowestMs"`;

/**
 * $1 webhooks, $2 start of the first hour. Cost: a row for each webhook and hour.
 *
 * `offset 0`, here and below, makes Postgres look up the rows of each webhook by index (decision 0012).
 */
const READ_HOURS = statement('read-attempt-hours')`
    select w.id as "webhookId", ${SUM_COLUMNS}
    from unnest($1::text[]) w (id)
    cross join lateral (
      select * from attempts_by_hour h where h.webhook_id = w.id and h.begins_at >= $2 offset 0
    ) s`;

/** @returns the day of each webhook, also without attempts. The last two minutes may be missing. */
export async function readAttemptDays(
  pool: Pool,
  ids: readonly WebhookId[],
  now: Date,
): Promise<ReadonlyMap<WebhookId, AttemptDay>> {
  const currentHourMs = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS;
  const starts = Array.from({ length: HOURS }, (_, n) => new Date(currentHourMs - (HOURS - 1 - n) * HOUR_MS));
  const rows = await runOn<SumRow>(pool, READ_HOURS, [ids, starts[0]]);
  const rowsOf = Map.groupBy(rows, ({ webhookId }) => webhookId);
  return new Map(
    ids.map((id) => {
      const own = rowsOf.get(id) ?? [];
      const hours = starts.map((beginsAt) => ({
        beginsAt,
        ...sumOf(own.filter((row) => row.beginsAt.getTime() === beginsAt.getTime())),
      }));
      return [id, { ...sumOf(own), hours }];
    }),
  );
}

const SUMMED_UNTIL = statement('attempts-summed-until')`select summed_until as until from attempt_sums`;

/**
 * The webhooks with the most attempts in the last minutes. It looks at the busiest webhooks of each minute. A
 * webhook that is among the busiest in no minute is not found.
 *
 * $1 end of the last minute, $2 minutes, $3 webhooks per minute. Cost: $2 × $3 index entries, and a row for
 * each webhook found and minute.
 */
const READ_BUSIEST = statement('read-busiest-webhooks')`
    with busiest as materialized (
      select distinct m.webhook_id
      from generate_series(1, $2::int) n
      cross join lateral (
        select b.webhook_id
        from attempts_by_minute b
        where b.begins_at = $1::timestamptz - make_interval(mins => n)
        order by b.attempts desc
        limit $3
      ) m
    )
    select w.id as "webhookId", w.account_id as "accountId", w.endpoint, w.failing_since as "failingSince",
           ${SUM_COLUMNS}
    from busiest
    cross join lateral (
      select * from webhooks e where e.id = busiest.webhook_id and e.removed_at is null offset 0
    ) w
    cross join lateral (
      select * from attempts_by_minute m
      where m.webhook_id = w.id
        and m.begins_at >= $1::timestamptz - make_interval(mins => $2::int) and m.begins_at < $1::timestamptz
      offset 0
    ) s`;

type BusyRow = SumRow & Omit<BusyWebhook, keyof AttemptSum>;

/** @param minutes whole minutes. @param limit webhooks at most. */
export async function readBusiestWebhooks(
  pool: Pool,
  { minutes, limit }: { readonly minutes: number; readonly limit: number },
): Promise<BusiestWebhooks> {
  const [summed] = await runOn<{ until: Date }>(pool, SUMMED_UNTIL, []);
  if (summed === undefined) return { until: null, webhooks: [] };
  const rows = await runOn<BusyRow>(pool, READ_BUSIEST, [summed.until, minutes, limit]);
  const webhooks = [...Map.groupBy(rows, ({ webhookId }) => webhookId).values()].map((own): BusyWebhook => {
    const [{ webhookId, accountId, endpoint, failingSince }] = own as [BusyRow];
    return { webhookId, accountId, endpoint, failingSince, ...sumOf(own) };
  });
  webhooks.sort((one, other) => other.attempts - one.attempts);
  return { until: summed.until, webhooks: webhooks.slice(0, limit) };
}

/** $1 account. Cost: a row for each of its webhooks, and a row of the sums for each. */
const READ_LAST_MINUTE = statement('read-last-minute-of-account')`
    select sum(s.attempts)::int as attempts
    from webhooks w
    cross join lateral (
      select m.attempts from attempts_by_minute m
      where m.webhook_id = w.id
        and m.begins_at = (select summed_until from attempt_sums) - interval '1 minute'
      offset 0
    ) s
    where w.account_id = $1 and w.removed_at is null`;

/** An account's attempts in the last minute that was added up. */
export async function readLastMinuteOf(pool: Pool, accountId: AccountId): Promise<number> {
  const [row] = await runOn<{ attempts: number | null }>(pool, READ_LAST_MINUTE, [accountId]);
  return row?.attempts ?? 0;
}

function sumOf(rows: readonly SumRow[]): AttemptSum {
  const durations = rows.map((row): Durations => ({ counts: row.durations, slowestMs: row.slowestMs }));
  return {
    attempts: rows.reduce((sum, row) => sum + row.attempts, 0),
    successes: rows.reduce((sum, row) => sum + row.successes, 0),
    p95Ms: p95Of(addDurations(durations)),
  };
}
