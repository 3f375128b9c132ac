import { beforeAll, describe } from '@jest/globals';
import { createTestDatabase, setup } from '@postrider/testing';
import { createPostgresBackend, withBackend } from 'bullmq';
import { queueConformance } from '../test/conformance.ts';
import { connectQueuePool } from './connection.ts';

describe('the queue on Postgres', () => {
  const database = setup(createTestDatabase, (opened) => opened.drop());
  let tables: string;

  beforeAll(async () => {
    const rows = await database.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname = 'bullmq' and tablename not like '%migration%'`,
    );
    tables = rows.map((row) => row.name).join(', ');
  });

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
