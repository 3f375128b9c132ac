import type { AccountId } from '@postrider/domain';
import type { Pool } from 'pg';
import { inBoundedStep, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { eraseDeadLetters } from './erase-dead-letters.ts';
import { eraseEvents } from './erase-events.ts';
import { eraseMail, eraseReceivedMail } from './erase-mail.ts';
import { together } from './erasure.ts';
import type { Erased, Erasure } from './erasure.ts';
import { unreadSesMail } from './unread-ses-mail.ts';

/** Result of one pass over a request. */
export interface ErasureResult {
  readonly accountId: AccountId;
  /** Of the last request, where it was repeated. Mail that is sent later is not meant. */
  readonly requestedAt: Date;
  readonly erased: Record<'emails' | 'messages' | 'events' | 'attempts' | 'deadLetters', number>;
  /** Rows that have to end first. */
  readonly pending: Record<'emails' | 'messages' | 'events' | 'deadLetters' | 'sesMail', number>;
  /** Of up to ten of these rows. Of mail that SES told of it is SNS's id. */
  readonly pendingIds: readonly string[];
  /** Nothing of the person is left, and nothing can come. The request is deleted. */
  readonly finished: boolean;
}

export interface ErasureStore {
  /**
   * Keeps the request, and erases at once what can be erased. The rest is left to `resume`, also where this process dies.
   * Repeated before it is finished, it means what came since as well, and takes ten minutes from then on.
   *
   * @param address as `plainAddress` writes it.
   */
  erase(accountId: AccountId, address: string): Promise<Omit<ErasureResult, 'finished'>>;
  /** Looks again at requests with something pending, of which each is looked at by one caller. */
  resume(): Promise<ErasureResult[]>;
}

/** After this time another relay may start a second pass. Both are safe. */
const LOOK_SECONDS_MAX = 300;
const LOOK_AGAIN_AFTER_SECONDS = 15;
/** The database rests this many times as long as a look took. */
const REST_PER_LOOK = 20;
/** And this part of the age of the request: what has been pending for a day may wait an hour more. */
const REST_PER_AGE = 0.05;
/**
 * The longest time from the date of a row to its commit. A send is dated first. Then it waits for a connection (5 s) and its
 * statement (15 s), and from an inbox again for a connection (5 s), its transaction (15 s) and the commit (15 s), all of it up to
 * three times: 165 s. The rest is for clocks that differ.
 */
const COMMITTED_WITHIN = `interval '10 minutes'`;

/** Those of a request as its pass begins. */
const COLUMNS = `account_id as "accountId", address, requested_at::text as "requestedAt", resume_from::text as "resumeFrom",
  now()::text as "beganAt", requested_at + ${COMMITTED_WITHIN} <= now() as "isLast"`;

interface Pass extends Erasure {
  readonly beganAt: string;
  /** All rows that the request means are committed: what this pass does not find is not there. */
  readonly isLast: boolean;
}

export function createErasureStore(pool: Pool): ErasureStore {
  return {
    erase: (accountId, address) =>
      mappingUnavailable(async () => {
        const { rows } = await pool.query<Pass>(
          `insert into erasures (account_id, address, due_at) values ($1, $2, now() + make_interval(secs => $3))
           on conflict (account_id, address) do update
           set requested_at = greatest(erasures.requested_at, excluded.requested_at), due_at = excluded.due_at,
               resume_from = least(erasures.resume_from, erasures.requested_at - ${COMMITTED_WITHIN})
           returning ${COLUMNS}`,
          [accountId, address, LOOK_SECONDS_MAX],
        );
        const [erasure] = rows as [Pass];
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

async function takeDue(pool: Pool): Promise<Pass | null> {
  const { rows } = await pool.query<Pass>(
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
 * Mail of SES first: what has been stored by then is seen below. Mail next, so that every event of it is there to be found. Then
 * dead letters before the events, and again behind them: a replay that is under way turns one into the other, and a delivery
 * that fails turns it back.
 */
async function look(pool: Pool, erasure: Pass): Promise<ErasureResult> {
  const startedMs = performance.now();
  const unread = await unreadSesMail(pool, erasure);
  const mail = await eraseMail(pool, erasure);
  const received = await eraseReceivedMail(pool, erasure);
  const before = await eraseDeadLetters(pool, erasure);
  const events = await eraseEvents(pool, erasure);
  const behind = await eraseDeadLetters(pool, erasure);
  const all = [unread, mail, received, before, events, behind].reduce(together);
  const finished = all.pending === 0 && erasure.isLast;
  if (finished) await forget(pool, erasure);
  else await putBack(pool, erasure, all, (performance.now() - startedMs) / 1000);
  return {
    accountId: erasure.accountId,
    requestedAt: new Date(erasure.requestedAt),
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
    },
    pendingIds: [...new Set(all.pendingIds)],
    finished,
  };
}

/** The next pass begins with the oldest row that this one has left, or that it may have missed. */
async function putBack(
  pool: Pool,
  { accountId, address, requestedAt, beganAt }: Pass,
  { pending, oldestPendingMs }: Erased,
  tookSeconds: number,
): Promise<void> {
  const oldest = oldestPendingMs === Infinity ? null : new Date(oldestPendingMs).toISOString();
  const restSeconds = Math.max(LOOK_AGAIN_AFTER_SECONDS, tookSeconds * REST_PER_LOOK);
  await pool.query(PUT_BACK, [accountId, address, requestedAt, beganAt, oldest, restSeconds, pending === 0]);
}

const PUT_BACK = `
  update erasures
  set resume_from = least($4::timestamptz, $5::timestamptz) - ${COMMITTED_WITHIN},
      due_at = greatest(now() + make_interval(secs => $6), now() + (now() - requested_at) * ${REST_PER_AGE},
                        case when $7 then requested_at + ${COMMITTED_WITHIN} end)
  where account_id = $1 and address = $2 and requested_at = $3::timestamptz`;

/** Nothing is left that the request is needed for, unless another look ended it meanwhile and it was made anew. */
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
