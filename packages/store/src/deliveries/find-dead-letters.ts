import type { AccountId, DeadLetterId, DeadLetterReason, EventType, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import type { DeadLetter } from './dead-letters.ts';

/** A dead letter of any account, with its webhook. */
export interface FoundDeadLetter extends DeadLetter {
  readonly accountId: AccountId;
  readonly accountName: string | null;
  /** Null: the webhook is deleted. */
  readonly endpoint: string | null;
}

/** An absent property matches any value. */
export interface FoundDeadLetterFilter {
  readonly accountId?: AccountId | undefined;
  readonly webhookId?: WebhookId | undefined;
  readonly type?: EventType | undefined;
  readonly reason?: DeadLetterReason | undefined;
  /** The last status: a number, a class of 100 such as 500 to 599, or none. */
  readonly status?: { readonly from: number; readonly to: number } | 'none' | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** The position of a dead letter in the list. */
export interface DeadLetterPosition {
  readonly createdAt: Date;
  readonly id: string;
}

/** Where to find dead letters, by the index that has them in order of their age. */
const SOURCES = {
  /** The index for retention has this form of the age. */
  all: { name: 'dead-letters-of-all', owner: 'true', age: "greatest(l.created_at, '-infinity')" },
  account: { name: 'dead-letters-of-account', owner: 'l.account_id = $1', age: 'l.created_at' },
  webhook: { name: 'dead-letters-of-webhook', owner: 'l.webhook_id = $2', age: 'l.created_at' },
} as const;
type Source = (typeof SOURCES)[keyof typeof SOURCES];

/**
 * The dead letters that match. Those of a webhook whose DELETE has answered are left out.
 *
 * $1 and $2 account and webhook or null, $3 type, $4 reason, $5 and $6 status from and to, $7 no status,
 * $8 and $9 since and until, $10 and $11 the dead letter before, $12 rows.
 */
const matching = ({ owner, age }: Source): string => `
    from dead_letters l
    where ${owner}
      and ($1::text is null or greatest(l.account_id, '') = $1) and ($2::text is null or greatest(l.webhook_id, '') = $2)
      and ($3::text is null or l.type = $3) and ($4::text is null or l.reason = $4::dead_letter_reason)
      and ($5::int is null or l.status_code between $5::int and $6::int)
      and (not $7::boolean or l.status_code is null)
      and ${age} >= $8::timestamptz and ${age} < $9::timestamptz
      and (${age}, l.id) < ($10::timestamptz, $11::text)
      and not exists (select from webhooks w where w.id = l.webhook_id and w.removed_at is not null)`;

const listFrom = (source: Source) => statement(`find-${source.name}`)`
    select l.id, l.account_id as "accountId", l.webhook_id as "webhookId", l.event_id as "eventId", l.type, l.attempts,
           l.reason::text as reason, l.last_error as "lastError", l.status_code as "statusCode", l.created_at as "createdAt",
           (select a.name from accounts a where a.id = l.account_id) as "accountName",
           (select w.endpoint from webhooks w where w.id = l.webhook_id) as endpoint
    ${matching(source)}
    order by ${source.age} desc, l.id desc limit $12`;

const countFrom = (source: Source) => statement(`count-${source.name}`)`
    select count(*)::int as found, min(counted.event_created_at) as oldest, max(counted.event_created_at) as newest
    from (select l.event_created_at ${matching(source)} limit $12) counted`;

/** A dead letter with its owner. */
export interface LocatedDeadLetter {
  readonly id: DeadLetterId;
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
}

/** Leaves out those of a webhook whose DELETE has answered. $1 dead letters. */
const LOCATE = statement('locate-dead-letters')`
    select l.id, l.account_id as "accountId", l.webhook_id as "webhookId"
    from dead_letters l
    where l.id = any ($1::text[])
      and (select true from webhooks w where w.id = l.webhook_id and w.removed_at is null)`;

/** @returns those of the dead letters that have a webhook. */
export async function locateDeadLetters(
  { pool }: { readonly pool: Pool },
  ids: readonly DeadLetterId[],
): Promise<LocatedDeadLetter[]> {
  return runOn<LocatedDeadLetter>(pool, LOCATE, [ids]);
}

/** Dead letters counted at most. */
export const DEAD_LETTERS_COUNTED_MAX = 10_000;

/** @returns at most `limit` dead letters of all accounts, the newest first. */
export async function findDeadLetters(
  { pool }: { readonly pool: Pool },
  filter: FoundDeadLetterFilter,
  { after, limit }: { readonly after: DeadLetterPosition | null; readonly limit: number },
): Promise<FoundDeadLetter[]> {
  return runOn<FoundDeadLetter>(pool, listFrom(sourceOf(filter)), valuesOf(filter, after, limit));
}

/** The dead letters that match. */
export interface DeadLetterCount {
  /** At most `DEAD_LETTERS_COUNTED_MAX`. */
  readonly found: number;
  /** When the first and the last event of them were recorded. Null: none matches. */
  readonly oldest: Date | null;
  readonly newest: Date | null;
}

export async function countFoundDeadLetters(
  { pool }: { readonly pool: Pool },
  filter: FoundDeadLetterFilter,
): Promise<DeadLetterCount> {
  const values = valuesOf(filter, null, DEAD_LETTERS_COUNTED_MAX);
  const [row] = await runOn<DeadLetterCount>(pool, countFrom(sourceOf(filter)), values);
  return row ?? { found: 0, oldest: null, newest: null };
}

/** $1 the start of each hour, $2 dead letters counted per hour. Cost: $2 index entries and rows per hour. */
const COUNT_BY_HOUR = statement('count-dead-letters-by-hour')`
    select h.begins_at as "beginsAt",
           (select count(*)::int from (
              select from dead_letters l
              where greatest(l.created_at, '-infinity') >= h.begins_at
                and greatest(l.created_at, '-infinity') < h.begins_at + interval '1 hour'
              limit $2) counted) as found
    from unnest($1::timestamptz[]) h (begins_at)
    order by h.begins_at`;

/** Dead letters counted per hour at most. */
export const DEAD_LETTERS_PER_HOUR_MAX = 1_000;

export interface DeadLetterHour {
  readonly beginsAt: Date;
  /** At most `DEAD_LETTERS_PER_HOUR_MAX`. */
  readonly found: number;
}

/** The dead letters of all accounts, for each of these hours. */
export async function countDeadLettersByHour(
  { pool }: { readonly pool: Pool },
  hours: readonly Date[],
): Promise<DeadLetterHour[]> {
  const starts = hours.map((hour) => hour.toISOString());
  return runOn<DeadLetterHour>(pool, COUNT_BY_HOUR, [starts, DEAD_LETTERS_PER_HOUR_MAX]);
}

function sourceOf({ accountId, webhookId }: FoundDeadLetterFilter): Source {
  if (webhookId !== undefined) return SOURCES.webhook;
  return accountId === undefined ? SOURCES.all : SOURCES.account;
}

function valuesOf(filter: FoundDeadLetterFilter, after: DeadLetterPosition | null, limit: number): unknown[] {
  const { accountId, webhookId, type, reason, status, since, until } = filter;
  const range = status === undefined || status === 'none' ? null : status;
  return [
    accountId ?? null,
    webhookId ?? null,
    type ?? null,
    reason ?? null,
    range?.from ?? null,
    range?.to ?? null,
    status === 'none',
    since?.toISOString() ?? '-infinity',
    until?.toISOString() ?? 'infinity',
    after?.createdAt.toISOString() ?? 'infinity',
    after?.id ?? '',
    limit,
  ];
}
