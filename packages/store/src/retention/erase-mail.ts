import { namesAddress } from '@postrider/domain';
import type { Pool } from 'pg';
import { inBoundedStep, lacks, MESSAGES_PER_STEP, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { LockConflictError } from '../db/errors.ts';
import { lockInbox } from '../inbound/sql/inboxes.ts';
import { dropEmptyThreads } from './empty-threads.ts';
import { mayName, needleOf, NOTHING, outcomeOf, together } from './erasure.ts';
import type { Erased, Erasure, Named } from './erasure.ts';
import { RECIPIENTS } from './old-mail.ts';
import { RECEIVED_PER_STEP } from './old-messages.ts';

/**
 * After this wait, the mail of the inbox stays for the next pass. Postgres serves sessions that wait for an
 * inbox in order. Each usually holds it for milliseconds, but it may take 15 s.
 */
const LOCK_TIMEOUT_MS = 2_000;
/**
 * Rows of a page. To fill it, Postgres reads up to this many rows for each `key_kind` and status: six
 * times.
 */
const RECEIVED_PER_PAGE = ROWS_PER_STEP / 2;

interface MailRow extends Named {
  /** When the message was created, for the next page. */
  readonly at: string;
  /** The inbox of its thread. */
  readonly inboxId: string | null;
  /** Null when no address of the message can be the person's. */
  readonly addresses: readonly string[] | null;
}

/** The statements that read and delete one kind of mail. */
interface MailKind {
  readonly page: string;
  readonly perPage: number;
  readonly drop: string;
  /** Messages deleted per step. Other transactions that need the inbox wait until the step ends. */
  readonly perStep: number;
}

/** The account's sent messages in index order, with their addresses only. */
const SENT_PAGE = `
  select e.id, e.created_at::text as at, (extract(epoch from e.created_at) * 1000)::float8 as "createdMs",
         case when ${mayName("array_to_string(a.list, ' ')", '$5')} then a.list end as addresses,
         (select s.inbox_id from inbox_sends s where s.email_id = e.id) as "inboxId"
  from (
    select id, created_at, from_address, to_addresses, cc_addresses, bcc_addresses, reply_to_addresses
    from emails
    where account_id = $1 and (created_at, id) > ($2::timestamptz, $3) and created_at <= $4::timestamptz
    order by created_at, id limit ${ROWS_PER_STEP}
  ) e
  cross join lateral (
    select e.from_address || e.to_addresses || e.cc_addresses || e.bcc_addresses || e.reply_to_addresses as list
  ) a
  order by e.created_at, e.id`;

/**
 * A message that still waits to be sent stays. The ids of the deleted messages are kept as long as events may
 * name them. Recording such an event locks the message, so none is recorded after the deletion.
 */
const DELETE_SENT = `
  with mine as materialized (
    select id from emails
    where id = any ($3::text[]) and ${lacks('email_sends', 'email_id', 'emails.id')}
    order by id for update skip locked
  ),
  kept as (
    insert into erased_emails (account_id, address, email_id) select $1, $2, id from mine on conflict do nothing
  ),
  ${RECIPIENTS}
  delete from emails where id = any (array(select id from mine))
  returning id, (select s.thread_id from inbox_sends s where s.email_id = emails.id) as "threadId"`;

/**
 * The account's received messages. Each kind and status is read by its own part of the index. Messages that
 * were stored after the request are read, too: SES may have announced them before it.
 */
const RECEIVED_PAGE = `
  select m.id, m.created_at::text as at, (extract(epoch from m.created_at) * 1000)::float8 as "createdMs",
         case when coalesce(m.notified_at, m.created_at) <= $4::timestamptz
                and ${mayName("array_to_string(a.list, ' ')", '$5')} then a.list end as addresses, m.inbox_id as "inboxId"
  from (
    select p.*
    from unnest(enum_range(null::key_kind)) k (kind), unnest(enum_range(null::message_status)) s (status)
    cross join lateral (
      select id, created_at, notified_at, inbox_id, from_address, to_addresses, cc_addresses, reply_to_addresses, received_for
      from messages
      where account_id = $1 and kind = k.kind and status = s.status
        and (created_at, id) > ($2::timestamptz, $3)
      order by created_at, id limit ${RECEIVED_PER_PAGE}
    ) p
    order by p.created_at, p.id limit ${RECEIVED_PER_PAGE}
  ) m
  cross join lateral (
    select m.from_address || m.to_addresses || m.cc_addresses || m.reply_to_addresses || m.received_for as list
  ) a
  order by m.created_at, m.id`;

/** A message that is being released is locked, so it is skipped. */
const DELETE_RECEIVED = `
  with mine as materialized (
    select id from messages where id = any ($3::text[])
    order by id for update skip locked
  ),
  kept as (
    insert into erased_emails (account_id, address, email_id) select $1, $2, id from mine on conflict do nothing
  )
  delete from messages where id = any (array(select id from mine)) returning id, thread_id as "threadId"`;

/** Deletes messages that the account sent from the person's address, or to it. */
export async function eraseMail(pool: Pool, erasure: Erasure): Promise<Erased> {
  return erase(pool, erasure, {
    page: SENT_PAGE,
    perPage: ROWS_PER_STEP,
    drop: DELETE_SENT,
    perStep: MESSAGES_PER_STEP,
  });
}

/**
 * Deletes messages that the account received from the person's address, or for it. The blob sweep deletes
 * their bytes.
 */
export async function eraseReceivedMail(pool: Pool, erasure: Erasure): Promise<Erased> {
  return erase(pool, erasure, {
    page: RECEIVED_PAGE,
    perPage: RECEIVED_PER_PAGE,
    drop: DELETE_RECEIVED,
    perStep: RECEIVED_PER_STEP,
  });
}

async function erase(pool: Pool, erasure: Erasure, kind: MailKind): Promise<Erased> {
  const { accountId, address, requestedAt, resumeFrom } = erasure;
  let total = NOTHING;
  let [at, id] = [resumeFrom, ''];
  const busy = new Set<string>();
  for (;;) {
    const values = [accountId, at, id, requestedAt, needleOf(address)];
    const { rows } = await inBoundedStep(pool, (client) => client.query<MailRow>(kind.page, values));
    const found = rows.filter(({ addresses }) => namesAddress(addresses, address));
    for (const inboxId of new Set(found.map((message) => message.inboxId))) {
      const mail = found.filter((message) => message.inboxId === inboxId);
      for (let start = 0; start < mail.length; start += kind.perStep) {
        const some = mail.slice(start, start + kind.perStep);
        const isBusy = inboxId !== null && busy.has(inboxId);
        const gone = isBusy ? null : await dropSome(pool, kind, erasure, inboxId, some);
        if (gone === null && inboxId !== null) busy.add(inboxId);
        total = together(total, outcomeOf(some, gone ?? []));
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < kind.perPage) return total;
    [at, id] = [last.at, last.id];
  }
}

/**
 * Deletes messages of an inbox or of none, and mail threads that are empty afterwards. It locks the inbox
 * first, as receiving and releasing do. It locks no second inbox, so it cannot deadlock.
 *
 * @returns the ids of the deleted messages; null when the inbox was busy for too long.
 */
async function dropSome(
  pool: Pool,
  { drop }: MailKind,
  { accountId, address }: Erasure,
  inboxId: string | null,
  some: readonly MailRow[],
): Promise<string[] | null> {
  const values = [accountId, address, some.map(({ id }) => id)];
  try {
    return await inBoundedStep(pool, async (client) => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(lockInbox.text, [inboxId, null]);
      const { rows } = await client.query<{ id: string; threadId: string | null }>(drop, values);
      const threadIds = new Set(rows.flatMap(({ threadId }) => threadId ?? []));
      if (threadIds.size > 0) await dropEmptyThreads(client, [...threadIds]);
      return rows.map(({ id }) => id);
    });
  } catch (error) {
    if (error instanceof LockConflictError) return null;
    throw error;
  }
}
