import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { MIGRATION_LOCK } from '../db/advisory-locks.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { openSession } from '../db/session.ts';
import { refuseTransactionPooler } from '../db/transaction-pooler.ts';
import { MigrationLockError } from './lock-tries.ts';
import { MIGRATE_LIMITS, sayAfterMs } from './migration-limits.ts';
import type { MigrateLimits, Say } from './migration-limits.ts';

const ASK_EVERY_MS = 200;

export interface MigratorOptions {
  /** Called when the migrator waits for another one, or for a table's lock, or runs a long statement. */
  readonly say?: Say;
  readonly limits?: MigrateLimits;
}

/**
 * Runs `work` in a session that holds the migration lock.
 *
 * @throws Error through a pooler in transaction mode, where the lock would hold nothing.
 * @throws MigrationLockError when another session holds the lock for longer than the limit.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function underMigrationLock<T>(
  databaseUrl: string,
  { say = () => undefined, limits = MIGRATE_LIMITS }: MigratorOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  return mappingUnavailable(async () => {
    await refuseTransactionPooler(databaseUrl);
    const client = await openSession({
      connectionString: databaseUrl,
      application_name: 'postrider-migrate',
    });
    try {
      await takeMigrationLock(client, limits, say);
      return await work(client);
    } finally {
      await client.end();
    }
  });
}

/**
 * Takes the session lock that allows one migrator at a time. It polls for the lock: a session that waits
 * inside Postgres would hold a snapshot, and a `create index concurrently` of the running migrator would wait
 * for that snapshot.
 */
async function takeMigrationLock(client: Client, limits: MigrateLimits, say: Say): Promise<void> {
  const beganAtMs = performance.now();
  let said = false;
  while (!(await tryLock(client))) {
    const waitedMs = performance.now() - beganAtMs;
    if (waitedMs >= limits.migrationLockMs) {
      throw new MigrationLockError(
        `${await holder(client)} has been migrating for over ${limits.migrationLockMs / 1000} s; run it again later`,
      );
    }
    if (!said && waitedMs >= sayAfterMs(limits.migrationLockMs)) {
      say(`${await holder(client)} is migrating: waiting for it, ${limits.migrationLockMs / 1000} s at most`);
      said = true;
    }
    await delay(ASK_EVERY_MS);
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.mine === true;
}

/** Names the holder of the lock. `pg_locks` shows the bits of an advisory lock's key in two columns. */
async function holder(client: Client): Promise<string> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks
     where locktype = 'advisory' and granted and classid = 0 and objid = $1 and objsubid = 1
       and database = (select oid from pg_database where datname = current_database())`,
    [MIGRATION_LOCK],
  );
  return rows[0] === undefined ? 'another process' : `Postgres process ${rows[0].pid}`;
}
