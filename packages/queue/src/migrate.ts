import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import { Client } from 'pg';
import { QUEUE_SCHEMA } from './connection.ts';

/** A server that takes the connection and says nothing is an error, too. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Makes or renews BullMQ's own tables, for deployments whose queues live in Postgres. */
export async function migrateQueueSchema(databaseUrl: string): Promise<void> {
  await connected(databaseUrl, async (client) => {
    await runMigrations(client, QUEUE_SCHEMA);
  });
}

/**
 * Whether BullMQ's own tables are there and at least of this release. BullMQ's own check passes older ones. It throws for
 * newer ones that this release may not use.
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

async function connected<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'postrider-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
