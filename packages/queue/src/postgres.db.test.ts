import { afterAll, beforeAll, describe } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { createPostgresBackend, withBackend } from 'bullmq';
import { queueConformance } from '../test/conformance.ts';
import { connectQueuePool } from './connection.ts';

describe('the queue on Postgres', () => {
  let database: TestDatabase;
  let tables: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    const rows = await database.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname = 'bullmq' and tablename not like '%migration%'`,
    );
    tables = rows.map((row) => row.name).join(', ');
  });
  afterAll(() => database.drop());

  queueConformance(async () => {
    await database.query(`truncate ${tables} cascade`);
    return {
      location: { kind: 'postgres', databaseUrl: database.url },
      async addForeign(queueName, jobId, data) {
        const pool = connectQueuePool(database.url, 1, () => undefined);
        const { Queue } = withBackend(createPostgresBackend);
        const queue = new Queue(queueName, { connection: pool });
        await queue.add('foreign', data, { jobId });
        await queue.close();
        await pool.end();
      },
      close: async () => undefined,
    };
  });
});
