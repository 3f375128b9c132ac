import { createPool, createWakeUps, openDatabase, openReadDatabase, requireDatabase } from '@postrider/store';
import type { ConfigurationOf, Part } from '@postrider/runtime';
import { connectionShares } from './connection-shares.ts';

/**
 * Opens the connections to Postgres that the roles of one process share. Sessions need different settings for
 * commits and query plans, so each kind has its own pool. No pool connects before its first statement.
 */
export function openConnections(config: ConfigurationOf<'all'>, onError: (error: Error) => void) {
  const limiterIsInPostgres = config.redisUrl === undefined;
  const shares = connectionShares(config.sharedPoolSize, limiterIsInPostgres);
  const postgres = { databaseUrl: config.databaseUrl, applicationName: 'postrider-all', onError };
  const wakeUps = createWakeUps(postgres);
  return {
    shares,
    wakeUps,
    /** Its commits are durable: requests, outcomes, received mail, actions. */
    database: openDatabase({ ...postgres, size: shares.stores }, wakeUps),
    keyDatabase: openDatabase({ ...postgres, size: shares.keys }, wakeUps),
    limiterConnection: { ...postgres, size: shares.limiter },
    /** The relay claims deliveries with it. The worker takes them with it. */
    leases: createPool({ ...postgres, size: shares.leases, durableCommits: false }),
    /** The relay counts and cleans up with it. Postgres plans these statements each time. */
    counts: createPool({ ...postgres, size: shares.counts, durableCommits: false, plans: 'each time' }),
    reads: openReadDatabase({ ...postgres, size: shares.reads }),
  };
}

/** Checks the database before a role starts. Closes all connections after every role has stopped. */
export function databasePart(
  { database, keyDatabase, leases, counts, reads, wakeUps }: ReturnType<typeof openConnections>,
  warn: (line: string) => void,
): Part {
  return {
    start: () => requireDatabase(database.pool, warn),
    stop: () =>
      Promise.all([
        database.close(),
        keyDatabase.close(),
        reads.close(),
        leases.end(),
        counts.end(),
        wakeUps.close(),
      ]),
  };
}
