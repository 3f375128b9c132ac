import { Pool } from 'pg';
import type { PoolClient } from 'pg';
import { mappingUnavailable } from './errors.ts';
import { endSession, KEEP_ALIVE, prepareSession, SessionClient } from './session.ts';
import type { Session, SessionSettings } from './session.ts';

export interface PoolOptions {
  readonly databaseUrl: string;
  /** Connections at most. */
  readonly size: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /**
   * False: a commit returns before it is on disk. Only for writes that may be lost when Postgres crashes:
   * leases, wake-ups, announcements, rate limits and the relay's housekeeping.
   */
  readonly durableCommits: boolean;
  /**
   * 'once' (the default): Postgres plans each named statement once per connection, for any values, with index
   * scans and nested loops only. Use it for statements that read few rows of large tables.
   *
   * 'each time': Postgres plans for the given values and may read a whole table. Use it for counts and
   * housekeeping.
   *
   * 'as Postgres chooses': for statements that we did not write.
   */
  readonly plans?: 'once' | 'each time' | 'as Postgres chooses';
  /** The schema of unqualified names (`public`). */
  readonly schema?: string;
  /** Called when an idle connection breaks. The pool replaces the connection itself. */
  readonly onError: (error: Error) => void;
}

/**
 * Each wait has a limit: for a connection, for an answer, and between two statements of a transaction. So a
 * hung Postgres becomes an error.
 */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 15_000;
const ANSWER_TIMEOUT_MS = 20_000;
/**
 * pg's error after ANSWER_TIMEOUT_MS. A working server cancels a statement after STATEMENT_TIMEOUT_MS. So the
 * server vanished silently. Connections that were acquired earlier, idle or in use, are probably dead, too.
 * In its own transactions, Prisma hides this error from the pool.
 */
const NO_ANSWER = 'Query read timeout';

export function createPool(options: PoolOptions): Pool {
  const settings = settingsOf(options);
  /** Oldest first. */
  const opened = new Set<PoolClient>();
  /** Least recently acquired first. */
  const acquired = new Set<PoolClient>();
  const pool = new Pool({
    connectionString: options.databaseUrl,
    max: options.size,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    min: 1, // after a quiet minute, the next statement finds a connection
    ...KEEP_ALIVE,
    Client: SessionClient,
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it
    onConnect: (client) =>
      prepareSession(client as unknown as Session, settings, () => endUpTo(client, opened)),
  });
  pool.on('error', options.onError);
  // A connection that is checked out may break between two statements. Without a listener, the error event
  // would end the process. The next statement on the connection fails in any case.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    opened.add(client);
  });
  pool.on('acquire', (client) => {
    acquired.delete(client);
    acquired.add(client);
  });
  pool.on('release', (error: Error | undefined, client) => {
    if (hasNoAnswer(error)) endUpTo(client, acquired);
  });
  pool.on('remove', (client) => {
    opened.delete(client);
    acquired.delete(client);
  });
  return pool;
}

/** Whether the error or one of its causes is NO_ANSWER: the store wraps the errors of statements. */
function hasNoAnswer(error: unknown): boolean {
  return error instanceof Error && (error.message === NO_ANSWER || hasNoAnswer(error.cause));
}

/** Ends the connections up to `last`: its server became read-only or vanished, and theirs may be the same. */
function endUpTo(last: unknown, clients: ReadonlySet<PoolClient>): void {
  for (const client of clients) {
    endSession(client);
    if (client === last) return;
  }
}

/**
 * By default, Postgres keeps a generic plan only if it costs no more than a plan for the values. For an array
 * it assumes ten elements where a batch often has one. So it would plan most statements each time, which
 * takes longer than running them.
 *
 * A plan that is kept must not depend on the table's size. A plan for a small table would still read the
 * whole table after it has grown, until Postgres next counts the rows, a minute or more later. Write joins so
 * that Postgres cannot reverse their order.
 */
const PLAN_SETTINGS = {
  once: {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
  },
  'each time': { plan_cache_mode: 'force_custom_plan' },
  'as Postgres chooses': {},
} as const;

function settingsOf({ plans = 'once', durableCommits, schema = 'public' }: PoolOptions): SessionSettings {
  return {
    search_path: schema,
    statement_timeout: String(STATEMENT_TIMEOUT_MS),
    idle_in_transaction_session_timeout: String(STATEMENT_TIMEOUT_MS),
    synchronous_commit: durableCommits ? 'on' : 'off',
    ...PLAN_SETTINGS[plans],
  };
}

/**
 * Runs `work` on one connection, and closes the connection when `work` rejects.
 *
 * @throws StoreUnavailableError when Postgres cannot be reached.
 */
export async function onConnection<T>(
  pool: Pick<Pool, 'connect'>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return mappingUnavailable(async () => {
    const client = await pool.connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  });
}

/**
 * Runs `work` in one transaction. It commits when `work` resolves, and closes the connection when `work`
 * rejects.
 *
 * @throws StoreUnavailableError when Postgres cannot be reached; the transaction may have committed.
 */
export async function inTransaction<T>(
  pool: Pick<Pool, 'connect'>,
  work: (client: PoolClient) => Promise<T>,
  begin = 'begin',
): Promise<T> {
  return onConnection(pool, async (client) => {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    return result;
  });
}
