import { Pool } from 'pg';
import type { PoolClient, PoolConfig } from 'pg';

export interface PoolOptions {
  readonly databaseUrl: string;
  /** Connections at the most. */
  readonly size: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /**
   * False: a commit returns before it is on disk. Only for writes that a crash of Postgres may undo without
   * harm: leases, and wake-ups.
   */
  readonly durableCommits: boolean;
  /**
   * Once (the default): each named statement is planned once a connection, for any values, and reads rows by indexes, one after
   * the other. For all that reads few rows, however many there are.
   * Each time: for its values, which may be a whole table. For counts and clean-ups.
   */
  readonly plans?: 'once' | 'each time';
  /** Told of a connection that broke while idle; the pool replaces it by itself. */
  readonly onError: (error: Error) => void;
}

/** Waiting for a connection, for an answer, and inside a transaction is bounded: a hung Postgres is an error. */
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
  // A connection that is checked out and between two statements has nobody else to tell, and an error that nobody
  // listens to would end the process. Its next statement fails all the same.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Left to itself, Postgres keeps a plan only if it costs no more than one for the values. It thinks of ten where a batch has one,
 * so most would be planned each time, which takes longer than running them. And a plan that is kept must not depend
 * on how many rows there are: made for small tables, it would go on reading them whole when they have grown, until Postgres next
 * counts the rows, a minute or more later. (A join has to be written so that it cannot turn round.)
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
    'jit=off', // compiling a short statement would take far longer than running it
    ...(durableCommits ? [] : ['synchronous_commit=off']),
    ...PLANNED[plans],
  ];
  return settings.map((setting) => `-c ${setting}`);
}

/** Adds to what the URL may bring of its own: of two lists, the driver would drop ours. */
function withSessionOptions(databaseUrl: string, ours: readonly string[]): string {
  const url = new URL(databaseUrl);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', [...(given === null ? [] : [given]), ...ours].join(' '));
  return url.href;
}

/** Runs `work` in one transaction: committed when it resolves, ended with its connection when it rejects. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
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
}
