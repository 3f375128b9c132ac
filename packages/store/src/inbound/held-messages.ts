import type { AccountId, HeldReason, MessageId } from '@postrider/domain';
import type { Pool } from 'pg';
import type { Actor } from '../audit/audit.ts';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import { INBOX_IS_THERE, SUBJECT } from './sql/read-messages.ts';

/** A message of any account that screening holds, without its text. */
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
  readonly actorKind: Actor['kind'];
  readonly actor: string;
}

export interface HeldFilter {
  readonly reason?: HeldReason | undefined;
  readonly accountId?: AccountId | undefined;
  /** Older than this message. */
  readonly after?: MessageId | undefined;
}

/** The columns of a message `m`. */
const SHOWN = `
           m.id, m.account_id as "accountId", (select n.name from accounts n where n.id = m.account_id) as "accountName",
           ${SUBJECT} as subject, m.from_address as "from", m.received_for as "receivedFor", m.held_reason as "heldReason",
           m.created_at as "receivedAt", m.size, m.spf, m.dkim, m.dmarc`;

/**
 * Reads held messages, the newest first. The rows of a deleted inbox stay for a while, and are left out.
 *
 * $1 reason or null, $2 account or null, $3 the message before or null, $4 rows. Cost: the held messages that
 * are newer than the last row.
 */
const LIST = statement('list-held-messages')`
    select ${SHOWN}
    from messages m
    where m.status = 'held'
      and ($1::text is null or m.held_reason = $1) and ($2::text is null or greatest(m.account_id, '') = $2)
      and ($3::text is null or (m.created_at, m.id) < (select b.created_at, b.id from messages b where b.id = $3))
      and ${INBOX_IS_THERE}
    order by m.created_at desc, m.id desc
    limit $4`;

/**
 * Reads messages by the entries of their release, the last release first.
 *
 * $1 the oldest release, $2 account or null, $3 entries. Cost: the releases of all accounts since $1.
 */
const LIST_RELEASED = statement('list-released-messages')`
    select ${SHOWN}, a.created_at as "releasedAt", a.actor_kind as "actorKind", a.actor
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
 * Counts the newest $1 held messages by reason, without the rows of deleted inboxes. A relay deletes few of
 * these at a time, so the limit comes first: it bounds what is read.
 */
const COUNT = statement('count-held-messages')`
    with newest as materialized (
      select inbox_id, held_reason, created_at from messages
      where status = 'held' order by created_at desc, id desc limit $1
    )
    select m.held_reason as reason, count(*)::int as messages, min(m.created_at) as oldest,
           (select count(*) from newest) = $1 as "isCut"
    from newest m
    where ${INBOX_IS_THERE}
    group by m.held_reason`;

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

const HELD_COUNTED_MAX = 10_000;
/** For one account. */
export const HELD_OF_ACCOUNT_COUNTED_MAX = 500;

export interface HeldCount {
  readonly reason: HeldReason;
  readonly messages: number;
  readonly oldest: Date;
  /** There may be older ones. */
  readonly isCut: boolean;
}

export async function listHeldMessages(
  { pool }: { readonly pool: Pool },
  { reason, accountId, after }: HeldFilter,
  limit: number,
): Promise<HeldMessage[]> {
  return runOn<HeldMessage>(pool, LIST, [reason ?? null, accountId ?? null, after ?? null, limit]);
}

/** The messages that were released since then. The last release comes first. */
export async function listReleasedMessages(
  { pool }: { readonly pool: Pool },
  { since, accountId }: { readonly since: Date; readonly accountId: AccountId | undefined },
  limit: number,
): Promise<ReleasedMessage[]> {
  return runOn<ReleasedMessage>(pool, LIST_RELEASED, [since.toISOString(), accountId ?? null, limit]);
}

/** The held messages of all accounts by reason, of the newest `HELD_COUNTED_MAX`. */
export async function countHeldMessages({ pool }: { readonly pool: Pool }): Promise<HeldCount[]> {
  return runOn<HeldCount>(pool, COUNT, [HELD_COUNTED_MAX]);
}

/**
 * The held messages of an account, counted up to `HELD_OF_ACCOUNT_COUNTED_MAX`. Too few while the newest
 * `HELD_COUNTED_MAX` are mostly of deleted inboxes.
 */
export async function countHeldOf({ pool }: { readonly pool: Pool }, accountId: AccountId): Promise<number> {
  const rows = await runOn<{ messages: number }>(pool, COUNT_OF_ACCOUNT, [
    accountId,
    HELD_OF_ACCOUNT_COUNTED_MAX,
    HELD_COUNTED_MAX,
  ]);
  return Math.min(HELD_OF_ACCOUNT_COUNTED_MAX, rows[0]?.messages ?? 0);
}
