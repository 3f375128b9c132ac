import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { underMigrationLock } from '@postrider/store';
import { createTestDatabase, waitFor } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { runMigrations } from 'bullmq-previous';
import { Client } from 'pg';
import { QUEUE_SCHEMA } from './connection.ts';
import { migrateQueueSchema, queueSchemaIsCurrent, requireQueueSchema } from './index.ts';

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const required = () => requireQueueSchema({ kind: 'postgres', databaseUrl: database.url });
const REFUSAL =
  'the queue has no tables in this database, or old ones; run `npm run migrate` first, in an image `node dist/cli.js migrate`';

/** They wait for the migration lock, or inside Postgres. */
const WAITING_MIGRATORS = `
  select from pg_stat_activity
  where datname = current_database() and application_name = 'postrider-migrate'
    and (query like '%pg_try_advisory_lock%' or wait_event_type = 'Lock') and state <> 'idle in transaction'`;

/** The tables as the BullMQ of the release before makes them. */
async function makeOldTables(): Promise<void> {
  await database.query(`drop schema ${QUEUE_SCHEMA} cascade`);
  const client = new Client(database.url);
  await client.connect();
  await runMigrations(client, QUEUE_SCHEMA);
  await client.end();
}

describe("the queue's tables", () => {
  test('are current when this release has made them', async () => {
    expect(await queueSchemaIsCurrent(database.url)).toBe(true);
    await required();
  });

  test('of the previous release are old: a process does not start until they are migrated', async () => {
    await makeOldTables();
    expect(await queueSchemaIsCurrent(database.url)).toBe(false);
    await expect(required()).rejects.toThrow(REFUSAL);
    await migrateQueueSchema(database.url);
    await required();
  });

  test('of a later release are current while this release may use them', async () => {
    await database.query(
      `insert into ${QUEUE_SCHEMA}.migration (version, name, min_client_version)
       select max(version) + 1, 'to come', max(min_client_version) from ${QUEUE_SCHEMA}.migration`,
    );
    await required();
  });

  test('without the sequence of a queue are old: BullMQ would make it, for which a process has no right', async () => {
    await database.query(
      `do $$ begin execute 'drop sequence ${QUEUE_SCHEMA}.' || ${QUEUE_SCHEMA}.job_id_seq_name('mail'); end $$`,
    );
    await expect(required()).rejects.toThrow(REFUSAL);
    await migrateQueueSchema(database.url);
    await required();
  });

  test('are made by one migrator at a time, also the sequences of our queues', async () => {
    const [row] = await database.query<{ name: string }>(
      `select ${QUEUE_SCHEMA}.job_id_seq_name('mail') as name`,
    );
    const sequence = `sequence ${QUEUE_SCHEMA}.${row?.name}`;
    await database.query(`drop ${sequence}`);
    const second = await underMigrationLock(database.url, {}, async (first) => {
      await first.query(`begin; create ${sequence}`);
      const migrated = migrateQueueSchema(database.url).catch((error: unknown) => error);
      await waitFor(async () => (await database.query(WAITING_MIGRATORS)).length > 0, {
        what: 'the second migrator to wait',
      });
      await first.query('commit');
      return { migrated };
    });
    expect(await second.migrated).toBeUndefined();
  });

  test('that are missing are not current', async () => {
    await database.query(`drop schema ${QUEUE_SCHEMA} cascade`);
    await expect(required()).rejects.toThrow(REFUSAL);
  });
});
