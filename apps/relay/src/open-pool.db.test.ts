import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { openRelayPool } from './open-pool.ts';

let database: TestDatabase;
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.drop());

test('a claim is planned for its values each time, and its commit does not wait for the disk', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c synchronous_commit=on'); // the tests' Postgres has it off already
  const pool = openRelayPool({ databaseUrl: url.href, databasePoolSize: 1 }, () => undefined);
  const { rows } = await pool.query(
    `select current_setting('plan_cache_mode') as plans, current_setting('synchronous_commit') as commits`,
  );
  await pool.end();
  expect(rows).toEqual([{ plans: 'force_custom_plan', commits: 'off' }]);
});
