import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { cliOn } from '../test/run-in-process.ts';

let database: TestDatabase;
beforeEach(async () => void (database = await createTestDatabase()));
afterEach(() => database.drop());

const { cli, json } = cliOn(() => database.url);

describe('migrate', () => {
  test('names the applied migrations; a second run applies none', async () => {
    await database.query('drop schema public cascade');
    await database.query('drop schema bullmq cascade');
    await database.query('create schema public');
    const first = await json<{ applied: string[]; queue_migrated: boolean }>('migrate');
    expect(first).toEqual({ applied: expect.arrayContaining([expect.any(String)]), queue_migrated: true });
    expect(await json('migrate')).toEqual({ applied: [], queue_migrated: false });
    expect((await cli('migrate')).stdout).toBe('the database is up to date\n');
    expect(await json('status')).toMatchObject({ ok: true, migrations: { pending: [] } });
  });

  test('two parallel runs both succeed', async () => {
    await database.query('drop schema public cascade');
    await database.query('drop schema bullmq cascade');
    await database.query('create schema public');
    const both = await Promise.all([cli('migrate'), cli('migrate')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    // The later one says that it waits, if the earlier one takes long enough.
    for (const { stderr } of both)
      expect(stderr).toMatch(/^(postrider: .+ is migrating: waiting for it, .+\n)?$/);
  });

  test('every other command refuses a database that lacks migrations, and status names them', async () => {
    await database.query('delete from _prisma_migrations');
    const refused = await cli('account', 'create', '--name', 'x', '--json');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^postrider: the database lacks \d+ migrations; run `npm run migrate` first, in an image `node dist\/cli.js migrate`\n$/,
    );
    const status = await cli('status', '--json');
    expect(status.code).toBe(1);
    expect(JSON.parse(status.stdout)).toMatchObject({
      ok: false,
      postgres: { reachable: true },
      migrations: { pending: expect.arrayContaining([expect.any(String)]) },
      faults: [refused.stderr.replace('postrider: ', '').trim()],
    });
    expect((await cli('status')).stdout).toMatch(/migrations +\d+ missing\n/);
  });
});
