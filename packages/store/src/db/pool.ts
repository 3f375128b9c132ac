import { Pool } from 'pg';
import type { PoolClient, PoolConfig } from 'pg';
import { mappingUnavailable } from './errors.ts';

export interface PoolOptions {
  readonly databaseUrl: string;
  /** Connections at most. */
  readonly size: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /**
   * False: a commit returns before it is on disk. Only for writes that may be lost when Postgres crashes:
   * leases and wake-ups.
   */
  readonly durableCommits: boolean;
  /**
   * 'once' (the default): Postgres plans each named statement once per connection, for any values, with index
   * scans and nested loops only. Use it for statements that read few rows of large tables.
   *
   * 'each time': Postgres plans for the given values and may read a whole table. Use it for counts and
   * housekeeping.
   */
  readonly plans?: 'once' | 'each time';
  /** Called when an idle connection breaks. The pool replaces the connection itself. */
  readonly onError: (error: Error) => void;
}

/**
 * Waits for a connection, for an answer and between two statements of a transaction are bounded: a hung
 * Postgres is an error.
 */
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 15_000;
const ANSWER_TIMEOUT_MS = 20_000;

export function createPool(options: PoolOptions): Pool {
  const config: PoolConfig = {
    connectionString: withSessionOptions(options.databaseUrl, sessionOptions(options)),
    max: options.size,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  const pool = new Pool(config);
  pool.on('error', options.onError);
  // A connection that is checked out may break between two statements. Without a listener, the error event
  // would end the process. The next statement on the connection fails in any case.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * By default, Postgres keeps a generic plan only if it costs no more than a plan for the values. For an array
 * it assumes ten elements where a batch often has one. So it would plan most statements each time, which
 * takes longer than running them.
 *
 * A plan that is kept must not depend on the table's size. A plan for a small table would still read the
 * whole table after it has grown, until Postgres next counts the rows, a minute or more later. Write joins so
 * that their order cannot turn round.
 */
const PLANNED = {
  once: [
    'plan_cache_mode=force_generic_plan',
    'enable_seqscan=off',
    'enable_bitmapscan=off',
    'enable_hashjoin=off',
    'enable_mergejoin=off',
  ],
  'each time': ['plan_cache_mode=force_custom_plan'],
} as const;

function sessionOptions({ plans = 'once', durableCommits }: PoolOptions): string[] {
  const settings = [
    'jit=off', // compiling a short statement takes far longer than running it
    ...(durableCommits ? [] : ['synchronous_commit=off']),
    ...PLANNED[plans],
  ];
  return settings.map((setting) => `-c ${setting}`);
}

/** Joins our options with those of the URL. The driver would drop ours if both were given. */
function withSessionOptions(databaseUrl: string, ours: readonly string[]): string {
  const url = new URL(databaseUrl);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', [...(given === null ? [] : [given]), ...ours].join(' '));
  return url.href;
}

/**
 * Runs `work` in one transaction. It commits when `work` resolves, and closes the connection when `work`
 * rejects.
 *
 * @throws StoreUnavailableError when Postgres cannot be reached; the transaction may have committed.
 */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return mappingUnavailable(async () => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      client.release();
      return result;
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  });
}
