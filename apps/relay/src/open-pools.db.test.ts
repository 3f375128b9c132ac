import { expect, test } from '@jest/globals';
import { createTestDatabase, setup } from '@postrider/testing';
import { openRelayPools } from './open-pools.ts';

const database = setup(createTestDatabase, (opened) => opened.drop());

test('claims are planned once, other statements each time; no commit waits for the disk', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c synchronous_commit=on'); // the tests' Postgres has it off already
  const pools = openRelayPools({ databaseUrl: url.href, databasePoolSize: 1 }, () => undefined);
  const settingsOf = async (pool: (typeof pools)['pool']): Promise<unknown> => {
    const { rows } = await pool.query(
      `select current_setting('plan_cache_mode') as plans, current_setting('synchronous_commit') as commits`,
    );
    await pool.end();
    return rows[0];
  };
  expect(await settingsOf(pools.leases)).toEqual({ plans: 'force_generic_plan', commits: 'off' });
  expect(await settingsOf(pools.pool)).toEqual({ plans: 'force_custom_plan', commits: 'off' });
});
