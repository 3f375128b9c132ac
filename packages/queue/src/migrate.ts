import { MIGRATE_FIRST, openSession } from '@postrider/store';
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import { QUEUE_SCHEMA } from './connection.ts';
import type { QueueLocation } from './connection.ts';

type Session = Awaited<ReturnType<typeof openSession>>;

/** Creates or migrates BullMQ's own tables, for queues on Postgres. */
export async function migrateQueueSchema(databaseUrl: string): Promise<void> {
  await connected(databaseUrl, (client) => runMigrations(client, QUEUE_SCHEMA));
}

/**
 * Returns true when BullMQ's tables exist in at least this release's version. BullMQ's own check accepts
 * older ones. Throws for newer tables that this release cannot use.
 */
export async function queueSchemaIsCurrent(databaseUrl: string): Promise<boolean> {
  return connected(databaseUrl, async (client) => {
    try {
      return (await assertSchemaCompatibility(client, QUEUE_SCHEMA)) >= LATEST_SCHEMA_VERSION;
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
