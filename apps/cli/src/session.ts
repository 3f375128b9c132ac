import { within } from '@postrider/limits';
import { createLogger, loadConfig } from '@postrider/runtime';
import type { ConfigurationOf, Logger } from '@postrider/runtime';
import { createPool, createWakeUps, openDatabase, requireDatabase } from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Io } from './io.ts';
import { note } from './print.ts';
import { findRunningSystem } from './running-system.ts';

export interface Session {
  readonly config: ConfigurationOf<'cli'>;
  readonly database: Database;
}

const APPLICATION_NAME = 'postrider-cli';
/** Connections to Postgres. A replay of named dead letters uses all; every other command needs one. */
export const POOL_SIZE = 8;
const CLOSE_TIMEOUT_MS = 3_000;

/**
 * Reads the configuration from the environment. Without DATABASE_URL it uses the embedded database of a
 * running `npm start` and writes a note to stderr.
 *
 * @throws ConfigurationError
 */
export function configuration(io: Io): ConfigurationOf<'cli'> {
  const isGiven = (key: string): boolean => (io.env[key] ?? '').trim() !== '';
  const running = isGiven('DATABASE_URL') ? null : findRunningSystem(io.dataDir);
  if (running === null) return loadConfig('cli', io.env);
  note(io, 'postrider: DATABASE_URL is not set: using the database of the running `npm start`');
  const redisUrl = isGiven('REDIS_URL') ? io.env['REDIS_URL'] : running.redisUrl;
  return loadConfig('cli', { ...io.env, DATABASE_URL: running.databaseUrl, REDIS_URL: redisUrl });
}

export function diagnostics(config: ConfigurationOf<'cli'>, io: Io): Logger {
  return createLogger({ level: config.logLevel, service: 'cli', stream: io.stderr });
}

/**
 * Runs `work` on a migrated database and closes every connection.
 *
 * @param options `indexesOnly`: Postgres reads by indexes only, for look-ups in large tables. Default: it may
 *   read a whole table, as counts need.
 */
export async function withDatabase(
  io: Io,
  work: (session: Session) => Promise<void>,
  { indexesOnly = false }: { readonly indexesOnly?: boolean } = {},
): Promise<void> {
  const config = configuration(io);
  const logger = diagnostics(config, io);
  // A session with plans of the kind `once` may read no whole table: see `PLAN_SETTINGS` in the store's pool.
  const plans: 'once' | 'each time' = indexesOnly ? 'once' : 'each time';
  const connection = {
    plans,
    databaseUrl: config.databaseUrl,
    applicationName: APPLICATION_NAME,
    onError: (error: Error) => logger.debug('postgres error', { error }),
  };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: POOL_SIZE }, wakeUps);
  try {
    await requireDatabase(database.pool);
    await work({ config, database });
  } finally {
    // Sends the pending wake-up before it closes the connection.
    await inTime(Promise.all([wakeUps.close(), database.close()]));
  }
}

/** One connection without Prisma. The schema need not be current. */
export async function withPool<T>(
  config: ConfigurationOf<'cli'>,
  logger: Logger,
  work: (pool: ReturnType<typeof createPool>) => Promise<T>,
): Promise<T> {
  const pool = createPool({
    databaseUrl: config.databaseUrl,
    size: 1,
    applicationName: APPLICATION_NAME,
    durableCommits: true,
    plans: 'each time',
    onError: (error) => logger.debug('postgres error', { error }),
  });
  try {
    return await work(pool);
  } finally {
    await inTime(pool.end());
  }
}

/** Limits the wait: a server that does not answer would hold up the end of the command. */
async function inTime(closing: Promise<unknown>): Promise<void> {
  await within(
    () => closing,
    CLOSE_TIMEOUT_MS,
    () => undefined,
  );
}
