import type { AccountId, DeadLetterId, DeadLetterReason, EventType, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { forRetention } from '../db/bounded-step.ts';
import { runOn } from '../db/database.ts';
import type { ListPosition } from '../db/page.ts';
import { statement } from '../db/statement.ts';
import { countedMaxPerWebhook } from '../webhooks/webhook-health.ts';
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

/** The age of a dead letter `l`, as the index of all dead letters has it. */
const AGE = forRetention('l.created_at');

/**
 * The sets of dead letters that an index has in order of their age. `owner`: the condition for the set, in
 * the form of the index.
 */
const SOURCES = {
  all: { name: 'dead-letters-of-all', owner: 'true', age: AGE },
  account: { name: 'dead-letters-of-account', owner: 'l.account_id = $1', age: 'l.created_at' },
  webhook: { name: 'dead-letters-of-webhook', owner: 'l.webhook_id = $2', age: 'l.created_at' },
} as const;
type Source = (typeof SOURCES)[keyof typeof SOURCES];

/**
 * Whether a dead letter `l` fits the filter. Dead letters of a webhook whose DELETE has answered never fit.
 */
const FITS = `($8::text is null or l.type = $8) and ($9::text is null or l.reason = $9::dead_letter_reason)
        and ($10::int is null or coalesce(l.status_code, 0) between $10::int and $11::int)
        and (not $12::boolean or l.status_code is null)
        and (select true from webhooks w where w.id = l.webhook_id and w.removed_at is not null limit 1) is null`;

/**
 * The newest $7 dead letters of an owner and a time span, numbered from 1 on as `n`. A search looks at no
 * others. Type, reason and status have no index, so a filter that few dead letters fit would read all.
 * `greatest(…, '')` is the id in a form that no index by the id has, so the plan stays on the index of
 * `owner`.
 *
 * $1 and $2 account and webhook or null, $3 and $4 since and until, $5 and $6 time and id of the cursor, $7
 * dead letters at most. For `FITS`: $8 type, $9 reason, $10 and $11 status from and to, $12 no status.
 */
const lookedAt = ({ owner, age }: Source): string => `
    from (
      select l.*, ${age} as age, row_number() over (order by ${age} desc, l.id desc) as n from dead_letters l
      where ${owner}
        and ($1::text is null or greatest(l.account_id, '') = $1) and ($2::text is null or greatest(l.webhook_id, '') = $2)
        and ${age} >= $3::timestamptz and ${age} < $4::timestamptz
        and (${age}, l.id) < ($5::timestamptz, $6::text)
      order by ${age} desc, l.id desc limit $7
    ) l`;

/**
 * The dead letters that fit, and the last one that the search looks at.
 *
 * $13 rows. `isLast`: the search ends at this dead letter, because it is number $7.
 */
const listFrom = (source: Source) => statement(`find-${source.name}`)`
    select l.id, l.account_id as "accountId", l.webhook_id as "webhookId", l.event_id as "eventId", l.type, l.attempts,
           l.reason::text as reason, l.last_error as "lastError", l.status_code as "statusCode", l.created_at as "createdAt",
           (select a.name from accounts a where a.id = l.account_id) as "accountName",
           (select w.endpoint from webhooks w where w.id = l.webhook_id) as endpoint,
           l.fits, l.n = $7 as "isLast"
    from (select l.*, ${FITS} as fits ${lookedAt(source)}) l
    where l.fits or l.n = $7
    order by l.age desc, l.id desc limit $13`;

const countFrom = (source: Source) => statement(`count-${source.name}`)`
    select count(*) filter (where ${FITS})::int as found, count(*) < $7 as "isWhole" ${lookedAt(source)}`;

/** A dead letter with its owner. */
export interface LocatedDeadLetter {
  readonly id: DeadLetterId;
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
}

/** Leaves out the dead letters of a webhook whose DELETE has answered. $1 ids of dead letters. */
const LOCATE = statement('locate-dead-letters')`
    select l.id, l.account_id as "accountId", l.webhook_id as "webhookId"
    from dead_letters l
    where l.id = any ($1::text[])
      and (select true from webhooks w where w.id = l.webhook_id and w.removed_at is null)`;

/** Finds dead letters by their ids. @returns those that have a webhook. */
export async function locateDeadLetters(
  { pool }: { readonly pool: Pool },
  ids: readonly DeadLetterId[],
): Promise<LocatedDeadLetter[]> {
  return runOn<LocatedDeadLetter>(pool, LOCATE, [ids]);
}

/** A list or a count looks at this many dead letters at most. */
export const DEAD_LETTERS_COUNTED_MAX = 10_000;

export interface FoundDeadLetters {
  /** The newest first. */
  readonly letters: readonly FoundDeadLetter[];
  /** Dead letters older than this one may match, too. null: no older one matches. */
  readonly olderFrom: ListPosition | null;
}

/** @returns at most `limit` dead letters of all accounts. */
export async function findDeadLetters(
  { pool }: { readonly pool: Pool },
  filter: FoundDeadLetterFilter,
  { after, limit }: { readonly after: ListPosition | null; readonly limit: number },
): Promise<FoundDeadLetters> {
  const statement = listFrom(sourceOf(filter));
  const rows = await runOn<FoundRow>(pool, statement, [...valuesOf(filter, after), limit + 1]);
  const fitting = rows.filter(({ fits }) => fits);
  const letters = fitting.slice(0, limit);
  const last = fitting.length > limit ? letters.at(-1) : rows.find(({ isLast }) => isLast);
  return { letters, olderFrom: last ?? null };
}

type FoundRow = FoundDeadLetter & { readonly fits: boolean; readonly isLast: boolean };

/** The dead letters that match. */
export interface DeadLetterCount {
  /** At most `DEAD_LETTERS_COUNTED_MAX`. */
  readonly found: number;
  /** False: more may match. */
  readonly isWhole: boolean;
}

export async function countFoundDeadLetters(
  { pool }: { readonly pool: Pool },
  filter: FoundDeadLetterFilter,
): Promise<DeadLetterCount> {
  const statement = countFrom(sourceOf(filter));
  const [row] = await runOn<DeadLetterCount>(pool, statement, valuesOf(filter, null));
  return row ?? { found: 0, isWhole: true };
}

/**
 * $1 webhooks, $2 the time, $3 type or null, $4 dead letters looked at per webhook, from the oldest on.
 */
const COUNT_BEFORE = statement('count-dead-letters-before')`
    select w.id as "webhookId", older.found, older."isWhole"
    from unnest($1::text[]) w (id)
    cross join lateral (
      select count(*) filter (where l.event_created_at < $2::timestamptz and ($3::text is null or l.type = $3))::int as found,
             count(*) < $4 as "isWhole"
      from (
        select g.event_created_at, g.type from dead_letters g
        where g.webhook_id = w.id order by g.created_at, g.id limit $4) l
    ) older
    where older.found > 0 or not older."isWhole"`;

/**
 * @returns the number of each webhook's dead letters whose event was recorded before the time. A webhook that
 * the map lacks has none. With `found` 0 and `isWhole` false, it may have some.
 */
export async function countDeadLettersBefore(
  { pool }: { readonly pool: Pool },
  ids: readonly WebhookId[],
  { before, type }: { readonly before: Date; readonly type?: EventType | undefined },
): Promise<ReadonlyMap<WebhookId, DeadLetterCount>> {
  const values = [ids, before.toISOString(), type ?? null, countedMaxPerWebhook(ids.length)];
  const rows = await runOn<DeadLetterCount & { readonly webhookId: WebhookId }>(pool, COUNT_BEFORE, values);
  return new Map(rows.map(({ webhookId, ...counted }) => [webhookId, counted]));
}

/** $1 the start of each hour, $2 dead letters counted per hour. Cost: $2 index entries and rows per hour. */
const COUNT_BY_HOUR = statement('count-dead-letters-by-hour')`
    select h.begins_at as "beginsAt",
           (select count(*)::int from (
              select from dead_letters l
              where ${AGE} >= h.begins_at and ${AGE} < h.begins_at + interval '1 hour'
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

/** The values $1 to $12. */
function valuesOf(filter: FoundDeadLetterFilter, after: ListPosition | null): unknown[] {
  const { accountId, webhookId, since, until, type, reason, status } = filter;
  const range = status === undefined || status === 'none' ? null : status;
  return [
    accountId ?? null,
    webhookId ?? null,
    since?.toISOString() ?? '-infinity',
    until?.toISOString() ?? 'infinity',
    after?.createdAt.toISOString() ?? 'infinity',
    after?.id ?? '',
    DEAD_LETTERS_COUNTED_MAX,
    type ?? null,
    reason ?? null,
    range?.from ?? null,
    range?.to ?? null,
    status === 'none',
  ];
}
