import type { AccountId } from '@postrider/domain';
import type { Pool } from 'pg';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import { inBoundedStep, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import { inTransaction } from '../db/pool.ts';
import { NOTICES_ACCOUNT } from '../mail/send-emails.ts';
import { eraseDeadLetters } from './erase-dead-letters.ts';
import { eraseEvents } from './erase-events.ts';
import { eraseMail, eraseReceivedMail } from './erase-mail.ts';
import { together } from './erasure.ts';
import type { Erased, Erasure } from './erasure.ts';
import { unreadSesMail } from './unread-ses-mail.ts';

/** Result of a pass over a request. */
export interface ErasureResult {
  readonly accountId: AccountId;
  /** Time of the last request, if it was repeated. Later mail is not erased. */
  readonly requestedAt: Date;
  readonly erased: Record<'emails' | 'messages' | 'events' | 'attempts' | 'deadLetters', number>;
  /** Rows that must stay for now, because they are outstanding or locked. */
  readonly pending: Record<'emails' | 'messages' | 'events' | 'deadLetters' | 'sesMail', number>;
  /** Ids of at most ten pending rows. For mail that SES announced, the id is that of SNS. */
  readonly pendingIds: readonly string[];
  /** No row of the person is left or can still appear. The request is deleted. */
  readonly finished: boolean;
}

/** After this time another relay may start a second pass over the request. Two passes at once are safe. */
const PASS_SECONDS_MAX = 300;
const NEXT_PASS_AFTER_SECONDS = 15;
/** The next pass starts after this many times the duration of the last one. */
const REST_PER_PASS = 20;
/** The next pass waits at least this part of the request's age: after a day, about an hour. */
const REST_PER_AGE = 0.05;
/**
 * The longest time from the date of a row to its commit. Postgres dates a row when the statement or the
 * transaction begins. A transaction may take 15 s, and its commit 15 s. The rest is a reserve.
 */
export const COMMITTED_WITHIN_SECONDS = 600;
const COMMITTED_WITHIN = `interval '${COMMITTED_WITHIN_SECONDS} seconds'`;

/** The columns of a request when a pass begins. */
const COLUMNS = `account_id as "accountId", address, requested_at::text as "requestedAt", resume_from::text as "resumeFrom",
  now()::text as "beganAt", requested_at + ${COMMITTED_WITHIN} <= now() as "isLast"`;

interface Pass extends Erasure {
  readonly beganAt: string;
  /** All rows that the request covers are committed. A row that this pass does not find does not exist. */
  readonly isLast: boolean;
}

/**
 * This update commits before the request gets its date. A notice gets its date before its address is read. So
 * the request covers each notice to this address, however long the update waits for the account.
 */
const FORGET_NOTICE_ADDRESS =
  'update accounts set notice_email = null where id = $1 and notice_email = $2 returning name';

/**
 * Stores two requests to erase address $2: for account $1, and for the account of the notices, $4. The caller
 * runs the first pass for account $1, so a relay waits $3 seconds. A relay begins with the other request at
 * once.
 */
const REQUEST = `
  insert into erasures (account_id, address, due_at)
  select id, $2, case when id = $1 then now() + make_interval(secs => $3) else now() end
  from accounts where id = any (array[$1, $4])
  on conflict (account_id, address) do update
  set requested_at = greatest(erasures.requested_at, excluded.requested_at), due_at = excluded.due_at,
      resume_from = least(erasures.resume_from, erasures.requested_at - ${COMMITTED_WITHIN})
  returning ${COLUMNS}`;

/** What is committed before a pass. */
export type ErasureStep = 'notice address removed' | 'request stored';

export type ErasureStore = ReturnType<typeof createErasureStore>;

export function createErasureStore(pool: Pool) {
  return {
    /**
     * Stores the request, and erases at once what can be erased. `resume` does the rest, also if this process
     * dies. A request that is repeated before it is finished covers later rows, too, and takes at least ten
     * minutes from then on.
     *
     * The account's notice address is forgotten, too, also when the request then fails. The mail about its
     * webhooks belongs to `NOTICES_ACCOUNT`, so that account gets the same request.
     *
     * @param address as `plainAddress` writes it.
     * @param onStep called after each commit before the pass.
     */
    async erase(
      accountId: AccountId,
      address: string,
      by: Actor,
      onStep: (step: ErasureStep) => void = () => undefined,
    ): Promise<Omit<ErasureResult, 'finished'>> {
      if (await forgetNoticeAddress(pool, accountId, address, by)) onStep('notice address removed');
      const erasure = await inTransaction(pool, async (client) => {
        const values = [accountId, address, PASS_SECONDS_MAX, NOTICES_ACCOUNT];
        const { rows } = await client.query<Pass>(REQUEST, values);
        // The address stays out of the audit.
        await recordAudit(client, by, { action: 'account.erase', accountId, target: accountId, count: 1 });
        return rows.find((row) => row.accountId === accountId);
      });
      if (erasure === undefined) throw new Error(`no account ${accountId}`);
      onStep('request stored');
      return runPass(pool, erasure);
    },
    /**
     * Runs a pass over the request that has been due for the longest time. One caller at a time works on a
     * request. @returns null when none is due.
     */
    async resume(): Promise<ErasureResult | null> {
      const due = await takeDue(pool);
      return due === null ? null : runPass(pool, due);
    },
  };
}

/** @returns false when the account has another notice address, or none. */
async function forgetNoticeAddress(
  pool: Pool,
  accountId: AccountId,
  address: string,
  by: Actor,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ name: string }>(FORGET_NOTICE_ADDRESS, [accountId, address]);
    for (const { name } of rows) {
      await recordAudit(client, by, {
        action: 'account.update',
        accountId,
        target: accountId,
        count: 1,
        before: { name, notice_email: 'an address' },
        after: { name, notice_email: null },
      });
    }
    return rows.length > 0;
  });
}

/** The array makes Postgres choose one row. A subquery of `in` may run for each row, and take them all. */
async function takeDue(pool: Pool): Promise<Pass | null> {
  const { rows } = await queryOn<Pass>(
    pool,
    `update erasures set due_at = now() + make_interval(secs => $1)
     where ctid = any (array(
       select ctid from erasures where due_at <= now() order by due_at limit 1 for update skip locked))
     returning ${COLUMNS}`,
    [PASS_SECONDS_MAX],
  );
  return rows[0] ?? null;
}

/**
 * The order matters. Mail of SES comes first: whatever is stored by then is found later in the pass. Mail
 * comes before events, so that every event of an erased message exists when events are read. Dead letters are
 * erased before and after the events: a running replay turns a letter into an event, and a delivery that
 * fails turns it back. An event that still has a dead letter stays, and a later pass erases it.
 */
async function runPass(pool: Pool, erasure: Pass): Promise<ErasureResult> {
  const startedMs = performance.now();
  const unread = await unreadSesMail(pool, erasure);
  const mail = await eraseMail(pool, erasure);
  const received = await eraseReceivedMail(pool, erasure);
  const before = await eraseDeadLetters(pool, erasure);
  const events = await eraseEvents(pool, erasure);
  const after = await eraseDeadLetters(pool, erasure);
  const all = [unread, mail, received, before, events, after].reduce(together);
  const isDone = all.pending === 0 && erasure.isLast;
  if (!isDone) await putBack(pool, erasure, all, (performance.now() - startedMs) / 1000);
  const finished = isDone && (await forget(pool, erasure));
  return {
    accountId: erasure.accountId,
    requestedAt: new Date(erasure.requestedAt),
    erased: {
      emails: mail.erased,
      messages: received.erased,
      events: events.erased,
      attempts: before.attempts + events.attempts + after.attempts,
      deadLetters: before.erased + after.erased,
    },
    pending: {
      emails: mail.pending,
      messages: received.pending,
      events: events.pending,
      deadLetters: Math.max(before.pending, after.pending),
      sesMail: unread.pending,
    },
    pendingIds: [...new Set(all.pendingIds)],
    finished,
  };
}

/** The next pass begins with the oldest row that this pass has left or may have missed. */
async function putBack(
  pool: Pool,
  { accountId, address, requestedAt, beganAt }: Pass,
  { pending, oldestPendingMs }: Erased,
  tookSeconds: number,
): Promise<void> {
  const oldest = oldestPendingMs === Infinity ? null : new Date(oldestPendingMs).toISOString();
  const restSeconds = Math.max(NEXT_PASS_AFTER_SECONDS, tookSeconds * REST_PER_PASS);
  await queryOn(pool, PUT_BACK, [
    accountId,
    address,
    requestedAt,
    beganAt,
    oldest,
    restSeconds,
    pending === 0,
  ]);
}

const PUT_BACK = `
  update erasures
  set resume_from = least($4::timestamptz, $5::timestamptz) - ${COMMITTED_WITHIN},
      due_at = greatest(now() + make_interval(secs => $6), now() + (now() - requested_at) * ${REST_PER_AGE},
                        case when $7 then requested_at + ${COMMITTED_WITHIN} end)
  where account_id = $1 and address = $2 and requested_at = $3::timestamptz`;

/**
 * Deletes the request and its `erased_emails`, unless the request was repeated meanwhile.
 *
 * @returns false when the request was repeated: later rows are to be erased, too
 */
async function forget(pool: Pool, { accountId, address, requestedAt }: Erasure): Promise<boolean> {
  for (;;) {
    // Null: more ids are left.
    const isGone = await inBoundedStep(pool, async (client) => {
      const { rows } = await client.query<{ isRepeated: boolean }>(
        `select requested_at <> $3::timestamptz as "isRepeated" from erasures where account_id = $1 and address = $2 for update`,
        [accountId, address, requestedAt],
      );
      const [request] = rows;
      if (request === undefined) return true;
      if (request.isRepeated) return false;
      const { rowCount } = await client.query(DROP_MAIL_IDS, [accountId, address]);
      if (rowCount === ROWS_PER_STEP) return null;
      await client.query('delete from erasures where account_id = $1 and address = $2', [accountId, address]);
      return true;
    });
    if (isGone !== null) return isGone;
  }
}

const DROP_MAIL_IDS = `
  delete from erased_emails where account_id = $1 and address = $2 and email_id = any (array(
    select email_id from erased_emails where account_id = $1 and address = $2 limit ${ROWS_PER_STEP}))`;
