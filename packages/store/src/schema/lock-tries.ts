import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { Client } from 'pg';
import type { Say } from './migration-limits.ts';

/**
 * The lock of a table, or of migrations, was not free in time. The server is healthy. The message names the
 * likely cause.
 */
export class MigrationLockError extends Error {
  override readonly name = 'MigrationLockError';
}

/** SQLSTATEs: lock timeout; deadlock. */
const NO_LOCK = ['55P03', '40P01'];
/** SQLSTATE: statement timeout. */
const TIMED_OUT = '57014';

export interface Tries {
  readonly lockMs: number;
  readonly tries: number;
  readonly pauseMs: number;
  /** `lockMs` also limits each whole statement, which may lock many partitions one by one. */
  readonly boundsStatements: boolean;
  readonly say: Say;
}

/**
 * Runs `work`, which may wait `lockMs` for each lock. It runs again while a lock is not available.
 *
 * @throws MigrationLockError after the last try.
 */
export async function inTries(
  client: Client,
  { lockMs, tries, pauseMs, boundsStatements, say }: Tries,
  work: () => Promise<void>,
): Promise<void> {
  const retriedCodes = boundsStatements ? [...NO_LOCK, TIMED_OUT] : NO_LOCK;
  const what = boundsStatements ? 'was not done' : 'did not get its lock';
  for (let attempt = 1; ; attempt += 1) {
    await client.query(
      `set lock_timeout = ${lockMs}; set statement_timeout = ${boundsStatements ? lockMs : 0}`,
    );
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof DatabaseError && retriedCodes.includes(error.code ?? ''))) throw error;
    } finally {
      await client.query('set statement_timeout = 0');
    }
    const failure = `${what} within ${lockMs / 1000} s (${await oldestTransaction(client)})`;
    if (attempt === tries) {
      throw new MigrationLockError(`${failure}, in ${attempt} tries; run it again when that has ended`);
    }
    say(`${failure}; try ${attempt + 1} of ${tries} in ${pauseMs / 1000} s`);
    await delay(pauseMs);
  }
}

/**
 * An automatic vacuum yields to a session that has waited for `deadlock_timeout`. The server's default of 1 s
 * is longer than `busyTable.tableLockMs`. A role that may not set this waits until the vacuum ends.
 */
export async function interruptVacuum(client: Client): Promise<void> {
  await client.query(`set deadlock_timeout = '100ms'`).catch((error: unknown) => {
    const notAllowed = '42501';
    if (!(error instanceof DatabaseError && error.code === notAllowed)) throw error;
  });
}

/**
 * The oldest transaction, which most likely holds the lock, and those whose age is hidden. `pg_stat_activity`
 * shows the age of transactions of other roles only to members of `pg_read_all_stats`. `pg_locks` shows every
 * session that is in a transaction: each holds the lock of its own virtual id.
 */
async function oldestTransaction(client: Client): Promise<string> {
  const { rows } = await client.query<OpenTransaction>(
    `select pid, application_name as application, extract(epoch from now() - xact_start)::int as seconds,
            current_user as role
     from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()
       and pid in (select pid from pg_locks where locktype = 'virtualxid' and mode = 'ExclusiveLock' and granted)
     order by xact_start, pid`,
  );
  const [oldest] = rows.filter(({ seconds }) => seconds !== null);
  const hidden = rows.filter(({ seconds }) => seconds === null);
  const known = oldest && `the oldest transaction is that of ${nameOf(oldest)}, ${oldest.seconds} s old`;
  if (hidden[0] === undefined) return known ?? 'no transaction is open now';
  const names = `in a transaction: ${hidden.map(nameOf).join(', ')}`;
  const grant = `${hidden[0].role} cannot see since when: grant it pg_read_all_stats`;
  return [known, names, grant].filter((part) => part !== undefined).join('; ');
}

interface OpenTransaction {
  readonly pid: number;
  readonly application: string;
  /** The age of the transaction. Null: the role may not see it. */
  readonly seconds: number | null;
  /** The role of this session. */
  readonly role: string;
}

function nameOf({ pid, application }: OpenTransaction): string {
  return `process ${pid} (${application || 'no name'})`;
}
