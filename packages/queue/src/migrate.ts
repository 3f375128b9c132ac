import { actAs, MIGRATE_FIRST, openSession, underMigrationLock } from '@postrider/store';
import type { MigratorOptions } from '@postrider/store';
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import { QUEUE_SCHEMA } from './connection.ts';
import type { QueueLocation } from './connection.ts';
import { QUEUES } from './jobs.ts';

type Session = Awaited<ReturnType<typeof openSession>>;

/**
 * Creates or migrates BullMQ's own tables, for queues on Postgres, under the migration lock. The owner of the
 * schema owns what this makes, also when another user runs it.
 */
export async function migrateQueueSchema(databaseUrl: string, options: MigratorOptions = {}): Promise<void> {
  await underMigrationLock(databaseUrl, options, async (client) => {
    const { rows } = await client.query<{ owner: string }>(
      'select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = $1',
      [QUEUE_SCHEMA],
    );
    if (rows[0] !== undefined) await actAs(client, rows[0].owner);
    await runMigrations(client, QUEUE_SCHEMA);
    for (const name of await missingSequences(client)) {
      await client.query(`create sequence if not exists ${QUEUE_SCHEMA}.${name}`);
    }
  });
}

/**
 * BullMQ makes a sequence when a queue first gets several jobs at once. The role of a process may not own the
 * schema, so the migration makes them all.
 */
async function missingSequences(client: Session): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) queue, ${QUEUE_SCHEMA}.job_id_seq_name(queue) name
     where to_regclass('${QUEUE_SCHEMA}.' || name) is null`,
    [Object.values(QUEUES).map(({ name }) => name)],
  );
  return rows.map(({ name }) => name);
}

/**
 * Returns true when BullMQ's tables exist in at least this release's version, and so do the sequences of our
 * queues. BullMQ's own check accepts older versions. Throws for newer tables that this release cannot use.
 */
export async function queueSchemaIsCurrent(databaseUrl: string): Promise<boolean> {
  return connected(databaseUrl, async (client) => {
    try {
      const version = await assertSchemaCompatibility(client, QUEUE_SCHEMA);
      return version >= LATEST_SCHEMA_VERSION && (await missingSequences(client)).length === 0;
    } catch (error) {
      if (error instanceof SchemaMigrationRequiredError) return false;
      throw error;
    }
  });
}

/**
 * @throws Error with the command to run, when the queues are on Postgres and their tables are missing or old.
 */
export async function requireQueueSchema(location: QueueLocation): Promise<void> {
  if (location.kind === 'postgres' && !(await queueSchemaIsCurrent(location.databaseUrl))) {
    throw new Error(`the queue has no tables in this database, or old ones; ${MIGRATE_FIRST}`);
  }
}

async function connected<T>(databaseUrl: string, work: (client: Session) => Promise<T>): Promise<T> {
  const client = await openSession({ connectionString: databaseUrl, application_name: 'postrider-migrate' });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
