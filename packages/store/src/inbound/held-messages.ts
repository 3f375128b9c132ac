import type { AccountId, HeldReason, MessageId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { ListPosition } from '../db/page.ts';
import { statement } from '../db/statement.ts';
import { INBOX_IS_THERE, SUBJECT } from './sql/read-messages.ts';

/** A held message of any account, without its text. */
export interface HeldMessage {
  readonly id: MessageId;
  readonly accountId: AccountId;
  readonly accountName: string;
  readonly subject: string | null;
  readonly from: string;
  readonly receivedFor: readonly string[];
  readonly heldReason: HeldReason;
  readonly receivedAt: Date;
  readonly size: number;
  readonly spf: string;
  readonly dkim: string;
  readonly dmarc: string;
}

/** A message that was held, and who released it. */
export interface ReleasedMessage extends HeldMessage {
  readonly releasedAt: Date;
  readonly actor: string;
}

export interface HeldFilter {
  readonly reason?: HeldReason | undefined;
  readonly accountId?: AccountId | undefined;
}

/** The columns of a message `m`. */
const SHOWN = `
           m.id, m.account_id as "accountId", (select n.name from accounts n where n.id = m.account_id) as "accountName",
           ${SUBJECT} as subject, m.from_address as "from", m.received_for as "receivedFor", m.held_reason as "heldReason",
           m.created_at as "receivedAt", m.size, m.spf, m.dkim, m.dmarc`;

/** The columns that decide whether and where a list shows a message `m`. */
const JUDGED = 'm.id, m.created_at, m.inbox_id, m.held_reason';
const IS_OLDER = '(m.created_at, m.id) < ($2::timestamptz, $3::text)';
const NEWEST = 'order by m.created_at desc, m.id desc';

/** The newest held messages of all accounts. $1 null, $2 and $3 time and id of the cursor, $4 messages. */
const NEWEST_OF_ALL = `
        select ${JUDGED}, row_number() over (${NEWEST}) as n from messages m
        where m.status = 'held' and $1::text is null and ${IS_OLDER} ${NEWEST} limit $4`;

/**
 * The newest held messages of an account, live and test. $1 account, $2 to $4 as above. The status is a row,
 * so that no plan uses the index of the held messages of all accounts.
 */
const NEWEST_OF_ACCOUNT = `
        select m.*, row_number() over (${NEWEST}) as n
        from unnest(enum_range(null::key_kind)) k (kind)
        cross join unnest('{held}'::message_status[]) s (status)
        cross join lateral (
          select ${JUDGED} from messages m
          where m.account_id = $1 and m.kind = k.kind and m.status = s.status and ${IS_OLDER} ${NEWEST} limit $4
        ) m
        ${NEWEST} limit $4`;

/**
 * Reads the held messages that fit, the newest first, and the last message that the search looks at. The
 * reason has no index. So the search looks only at the newest $4: a rare reason would make it read all. The
 * rows of a deleted inbox stay for a while, and do not fit.
 *
 * $1 to $4 as in `newest`, $5 reason or null, $6 rows. `isLast`: the search ends at this message, because it
 * is number $4.
 */
const listOf = (name: string, newest: string) => statement(name)`
    select ${SHOWN}, found.fits, found.n = $4 as "isLast"
    from (
      select m.*
      from (
        select m.*, ($5::text is null or m.held_reason = $5) and ${INBOX_IS_THERE} as fits from (${newest}
        ) m
      ) m
      where m.fits or m.n = $4 ${NEWEST} limit $6
    ) found
    cross join lateral (select * from messages x where x.id = found.id offset 0) m
    order by found.n`;

const LIST = listOf('find-held-messages', NEWEST_OF_ALL);
const LIST_OF_ACCOUNT = listOf('find-held-messages-of-account', NEWEST_OF_ACCOUNT);

/**
 * Finds released messages by the audit entries of their releases, the last release first.
 *
 * $1 the oldest release, $2 account or null, $3 entries. Cost: the releases of all accounts since $1.
 */
const LIST_RELEASED = statement('list-released-messages')`
    select ${SHOWN}, a.created_at as "releasedAt", a.actor
    from (
      select * from audit e
      where e.action = 'message.release' and e.created_at >= $1::timestamptz
        and ($2::text is null or greatest(e.account_id, '') = $2)
      order by e.created_at desc, e.id desc limit $3
    ) a
    cross join lateral (select * from messages x where x.id = a.target and x.held_reason is not null offset 0) m
    where ${INBOX_IS_THERE}
    order by a.created_at desc, a.id desc`;

/**
 * Counts the newest $1 held messages by reason, without the rows of deleted inboxes. A relay deletes those
 * rows slowly. So the limit applies before those rows are left out: it bounds what is read.
 *
 * Returns at least one row. Its reason is null when no message is counted.
 */
const COUNT = statement('count-held-messages')`
    with newest as materialized (
      select inbox_id, held_reason, created_at, row_number() over (order by created_at desc, id desc) as n
      from messages
      where status = 'held' order by created_at desc, id desc limit $1 + 1
    )
    select m.held_reason as reason, count(m.held_reason)::int as messages, min(m.created_at) as oldest, found.is_cut as "isCut"
    from (select count(*) > $1 as is_cut from newest) found
    left join newest m on m.n <= $1 and ${INBOX_IS_THERE}
    group by m.held_reason, found.is_cut`;

/**
 * Counts at most $2 held messages of an account. $1 account, $3 the newest of each kind that are looked at.
 * The status is a row, so that no plan uses the index of the held messages of all accounts.
 */
const COUNT_OF_ACCOUNT = statement('count-held-messages-of-account')`
    select count(*)::int as messages
    from unnest(enum_range(null::key_kind)) k (kind)
    cross join unnest('{held}'::message_status[]) s (status)
    cross join lateral (
      select
      from (
        select r.inbox_id from messages r
        where r.account_id = $1 and r.kind = k.kind and r.status = s.status
        order by r.created_at desc, r.id desc limit $3
      ) m
      where ${INBOX_IS_THERE}
      limit $2
    ) h`;

/** Maximum number of held messages that a list or a count reads. */
export const HELD_COUNTED_MAX = 10_000;
/** Maximum count of the held messages of one account. */
export const HELD_OF_ACCOUNT_COUNTED_MAX = 500;

interface HeldCount {
  readonly reason: HeldReason;
  readonly messages: number;
  readonly oldest: Date;
}

export interface HeldCounts {
  /** Reasons without a counted message are absent. */
  readonly byReason: readonly HeldCount[];
  /** There are older messages, which are not counted. */
  readonly isCut: boolean;
}

export interface FoundHeldMessages {
  /** The newest first. */
  readonly messages: readonly HeldMessage[];
  /** Messages that are older than this one may match, too. null: no older message matches. */
  readonly olderFrom: ListPosition | null;
}

/** @returns at most `limit` held messages. */
export async function findHeldMessages(
  { pool }: { readonly pool: Pool },
  { reason, accountId }: HeldFilter,
  { after, limit }: { readonly after: ListPosition | null; readonly limit: number },
): Promise<FoundHeldMessages> {
  const list = accountId === undefined ? LIST : LIST_OF_ACCOUNT;
  const from = [after?.createdAt.toISOString() ?? 'infinity', after?.id ?? ''];
  const values = [accountId ?? null, ...from, HELD_COUNTED_MAX, reason ?? null, limit + 1];
  const rows = await runOn<FoundRow>(pool, list, values);
  const fitting = rows.filter(({ fits }) => fits);
  const messages = fitting.slice(0, limit);
  const last = fitting.length > limit ? messages.at(-1) : rows.find(({ isLast }) => isLast);
  return { messages, olderFrom: last === undefined ? null : { createdAt: last.receivedAt, id: last.id } };
}

type FoundRow = HeldMessage & { readonly fits: boolean; readonly isLast: boolean };

/** The messages that were released at `since` or later. The last release comes first. */
export async function listReleasedMessages(
  { pool }: { readonly pool: Pool },
  { since, accountId }: { readonly since: Date; readonly accountId: AccountId | undefined },
  limit: number,
): Promise<ReleasedMessage[]> {
  return runOn<ReleasedMessage>(pool, LIST_RELEASED, [since.toISOString(), accountId ?? null, limit]);
}

/** The held messages of all accounts by reason, of the newest `HELD_COUNTED_MAX`. */
export async function countHeldMessages({ pool }: { readonly pool: Pool }): Promise<HeldCounts> {
  const rows = await runOn<CountRow>(pool, COUNT, [HELD_COUNTED_MAX]);
  const byReason = rows.flatMap(({ reason, messages, oldest }) =>
    reason === null || oldest === null ? [] : [{ reason, messages, oldest }],
  );
  return { byReason, isCut: rows[0]?.isCut === true };
}

interface CountRow {
  readonly reason: HeldReason | null;
  readonly messages: number;
  readonly oldest: Date | null;
  readonly isCut: boolean;
}

/**
 * The held messages of an account, counted up to `HELD_OF_ACCOUNT_COUNTED_MAX`. The count is too low while
 * most of the newest `HELD_COUNTED_MAX` belong to deleted inboxes.
 */
export async function countHeldOf({ pool }: { readonly pool: Pool }, accountId: AccountId): Promise<number> {
  const rows = await runOn<{ messages: number }>(pool, COUNT_OF_ACCOUNT, [
    accountId,
    HELD_OF_ACCOUNT_COUNTED_MAX,
    HELD_COUNTED_MAX,
  ]);
  return Math.min(HELD_OF_ACCOUNT_COUNTED_MAX, rows[0]?.messages ?? 0);
}
