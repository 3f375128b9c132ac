import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { SESSION_OPTIONS } from './hostile-postgres.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

describe('a test database', () => {
  let first: TestDatabase;
  let second: TestDatabase;

  beforeAll(async () => {
    [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  });
  afterAll(async () => {
    await Promise.all([first.drop(), second.drop()]);
  });

  test('shares no table with another test database', async () => {
    await first.query('CREATE TABLE mine (n integer)');
    await first.query('INSERT INTO mine VALUES ($1)', [7]);

    expect(await first.query('SELECT n FROM mine')).toEqual([{ n: 7 }]);
    await expect(second.query('SELECT n FROM mine')).rejects.toThrow('relation "mine" does not exist');
  });

  test('is dropped although a client is connected', async () => {
    const database = await createTestDatabase();
    const errors: string[] = [];
    const visitor = new Client({ connectionString: database.url, options: SESSION_OPTIONS }).on(
      'error',
      (error) => errors.push(error.message),
    );
    await visitor.connect();
    const name = new URL(database.url).pathname.slice(1);
    await database.drop();

    expect(errors[0]).toContain('terminating connection');
    expect(await first.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])).toEqual([]);
  });

  test('can be created while others are created', async () => {
    const databases = await Promise.all(Array.from({ length: 8 }, async () => createTestDatabase()));

    expect(new Set(databases.map(({ url }) => url)).size).toBe(8);
    await Promise.all(databases.map(async (database) => database.drop()));
  });
});
