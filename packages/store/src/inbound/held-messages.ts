import type { AccountId, HeldReason, MessageId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

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

export interface HeldFilter {
  readonly reason?: HeldReason | undefined;
  readonly accountId?: AccountId | undefined;
  /** Older than this message. */
  readonly after?: MessageId | undefined;
}

/**
 * Reads held messages, the newest first. The rows of a deleted inbox stay for a while, and are left out.
 *
 * $1 reason or null, $2 account or null, $3 the message before or null, $4 rows. Cost: the held messages that
 * are newer than the last row.
 */
const LIST = statement('list-held-messages')`
    select m.id, m.account_id as "accountId", (select a.name from accounts a where a.id = m.account_id) as "accountName",
           m.subject, m.from_address as "from", m.received_for as "receivedFor", m.held_reason as "heldReason",
           m.created_at as "receivedAt", m.size, m.spf, m.dkim, m.dmarc
    from messages m
    where m.status = 'held'
      and ($1::text is null or m.held_reason = $1) and ($2::text is null or greatest(m.account_id, '') = $2)
      and ($3::text is null or (m.created_at, m.id) < (select b.created_at, b.id from messages b where b.id = $3))
      and (m.inbox_id = any (array(select id from removed_inboxes))) is not true
    order by m.created_at desc, m.id desc
    limit $4`;

/** Counts at most $1 held messages, by reason. */
const COUNT = statement('count-held-messages')`
    select held_reason as reason, count(*)::int as messages, min(created_at) as oldest
    from (select held_reason, created_at from messages where status = 'held' order by created_at desc, id desc limit $1) h
    group by held_reason`;

export const HELD_COUNTED_MAX = 10_000;

export interface HeldCount {
  readonly reason: HeldReason;
  readonly messages: number;
  readonly oldest: Date;
}

export async function listHeldMessages(
  { pool }: { readonly pool: Pool },
  { reason, accountId, after }: HeldFilter,
  limit: number,
): Promise<HeldMessage[]> {
  return runOn<HeldMessage>(pool, LIST, [reason ?? null, accountId ?? null, after ?? null, limit]);
}

/** The held messages of all accounts by reason, of the newest `HELD_COUNTED_MAX`. */
export async function countHeldMessages({ pool }: { readonly pool: Pool }): Promise<HeldCount[]> {
  return runOn<HeldCount>(pool, COUNT, [HELD_COUNTED_MAX]);
}
