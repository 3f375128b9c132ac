import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { underMigrationLock } from '@postrider/store';
import { createTestDatabase, waitFor } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
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

describe("the queue's tables", () => {
  test('are current when this release has made them', async () => {
    expect(await queueSchemaIsCurrent(database.url)).toBe(true);
    await required();
  });

  test('of an older BullMQ are old: a process does not start', async () => {
    await database.query(
      `delete from ${QUEUE_SCHEMA}.migration where version = (select max(version) from ${QUEUE_SCHEMA}.migration)`,
    );
    expect(await queueSchemaIsCurrent(database.url)).toBe(false);
    await expect(required()).rejects.toThrow(REFUSAL);
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

  test('that are missing are not current until they are migrated', async () => {
    await database.query(`drop schema ${QUEUE_SCHEMA} cascade`);
    await expect(required()).rejects.toThrow(REFUSAL);
    await migrateQueueSchema(database.url);
    await required();
  });
});
