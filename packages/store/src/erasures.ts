import type { AccountId } from '@postrider/domain';
import type { Pool } from 'pg';
import { inBoundedStep, ROWS_PER_STEP } from './bounded-step.ts';
import { eraseDeadLetters } from './erasure/erase-dead-letters.ts';
import { eraseEvents } from './erasure/erase-events.ts';
import { eraseMail, eraseReceivedMail } from './erasure/erase-mail.ts';
import { together } from './erasure/erasure.ts';
import type { Erasure } from './erasure/erasure.ts';
import { openTransactions } from './erasure/open-transactions.ts';
import { unreadSesMail } from './erasure/unread-ses-mail.ts';
import { mappingUnavailable } from './errors.ts';

/** What one look at a request came to. Nothing pending: the person is forgotten, and so is the request. */
export interface ErasureResult {
  readonly accountId: AccountId;
  readonly erased: Record<'emails' | 'messages' | 'events' | 'attempts' | 'deadLetters', number>;
  /** What has to come to its end first. `transactions`: they began before the request, and may still commit rows. */
  readonly pending: Record<
    'emails' | 'messages' | 'events' | 'deadLetters' | 'sesMail' | 'transactions',
    number
  >;
}

export interface ErasureStore {
  /**
   * Keeps the request, and erases at once what can be erased. The rest is left to `resume`, also where this process dies.
   *
   * @param address as `plainAddress` writes it.
   */
  erase(accountId: AccountId, address: string): Promise<ErasureResult>;
  /** Looks again at requests with something pending, of which each is looked at by one caller. */
  resume(): Promise<ErasureResult[]>;
}

/** After this time another relay may start a second pass. Both are safe. */
const LOOK_SECONDS_MAX = 300;
const LOOK_AGAIN_AFTER_SECONDS = 15;
/** The database rests this many times as long as a look took. */
const REST_PER_LOOK = 20;
/** Rows may appear behind a look: transactions last up to 15 s, and clocks of other machines differ. */
const OVERLAP_MS = 10 * 60 * 1000;

const COLUMNS = `account_id as "accountId", address, requested_at::text as "requestedAt",
  resume_from::text as "resumeFrom"`;

export function createErasureStore(pool: Pool): ErasureStore {
  return {
    erase: (accountId, address) =>
      mappingUnavailable(async () => {
        const { rows } = await pool.query<Erasure>(
          `insert into erasures (account_id, address, due_at) values ($1, $2, now() + make_interval(secs => $3))
           on conflict (account_id, address) do update
             set requested_at = excluded.requested_at, resume_from = '-infinity', due_at = excluded.due_at
           returning ${COLUMNS}`,
          [accountId, address, LOOK_SECONDS_MAX],
        );
        const [erasure] = rows as [Erasure];
        return look(pool, erasure);
      }),
    resume: () =>
      mappingUnavailable(async () => {
        const results: ErasureResult[] = [];
        for (let next = await takeDue(pool); next !== null; next = await takeDue(pool)) {
          results.push(await look(pool, next));
        }
        return results;
      }),
  };
}

async function takeDue(pool: Pool): Promise<Erasure | null> {
  const { rows } = await pool.query<Erasure>(
    `update erasures set due_at = now() + make_interval(secs => $1)
     where (account_id, address) in (
       select account_id, address from erasures where due_at <= now() order by due_at limit 1
       for update skip locked)
     returning ${COLUMNS}`,
    [LOOK_SECONDS_MAX],
  );
  return rows[0] ?? null;
}

/**
 * Transactions first, then mail of SES: what has ended by then is seen below. Mail next, so that every event of it is there to
 * be found. Then dead letters before the events, and again behind them: a replay that is under way turns one into the other,
 * and a delivery that fails turns it back.
 */
async function look(pool: Pool, erasure: Erasure): Promise<ErasureResult> {
  const beganMs = Date.now();
  const open = await openTransactions(pool, erasure.requestedAt);
  const unread = await unreadSesMail(pool, erasure.requestedAt);
  const mail = await eraseMail(pool, erasure);
  const received = await eraseReceivedMail(pool, erasure);
  const before = await eraseDeadLetters(pool, erasure);
  const events = await eraseEvents(pool, erasure);
  const behind = await eraseDeadLetters(pool, erasure);
  const all = [open, unread, mail, received, before, events, behind].reduce(together);
  if (all.pending === 0) await forget(pool, erasure);
  else await putBack(pool, erasure, beganMs, all.oldestPendingMs);
  return {
    accountId: erasure.accountId,
    erased: {
      emails: mail.erased,
      messages: received.erased,
      events: events.erased,
      attempts: before.attempts + events.attempts + behind.attempts,
      deadLetters: before.erased + behind.erased,
    },
    pending: {
      emails: mail.pending,
      messages: received.pending,
      events: events.pending,
      deadLetters: Math.max(before.pending, behind.pending),
      sesMail: unread.pending,
      transactions: open.pending,
    },
  };
}

/** The next look begins with the oldest row that this one has left. */
async function putBack(
  pool: Pool,
  { accountId, address, requestedAt }: Erasure,
  beganMs: number,
  oldestPendingMs: number,
): Promise<void> {
  const resumeFrom = new Date(Math.min(oldestPendingMs, beganMs) - OVERLAP_MS).toISOString();
  const restSeconds = ((Date.now() - beganMs) / 1000) * REST_PER_LOOK;
  await pool.query(
    `update erasures set resume_from = $4, due_at = now() + make_interval(secs => $5)
     where account_id = $1 and address = $2 and requested_at = $3::timestamptz`,
    [accountId, address, requestedAt, resumeFrom, Math.max(LOOK_AGAIN_AFTER_SECONDS, restSeconds)],
  );
}

/** Nothing is left that the request is needed for, unless it was made anew meanwhile: then its new look goes on with it. */
async function forget(pool: Pool, { accountId, address, requestedAt }: Erasure): Promise<void> {
  const own = [accountId, address, requestedAt];
  for (let goOn = true; goOn;) {
    goOn = await inBoundedStep(pool, async (client) => {
      const held = await client.query(
        `select from erasures where account_id = $1 and address = $2 and requested_at = $3::timestamptz for update`,
        own,
      );
      if (held.rowCount === 0) return false;
      const { rowCount } = await client.query(DROP_MAIL_IDS, [accountId, address]);
      if (rowCount === ROWS_PER_STEP) return true;
      await client.query('delete from erasures where account_id = $1 and address = $2', [accountId, address]);
      return false;
    });
  }
}

const DROP_MAIL_IDS = `
  delete from erased_emails where account_id = $1 and address = $2 and email_id = any (array(
    select email_id from erased_emails where account_id = $1 and address = $2 limit ${ROWS_PER_STEP}))`;
