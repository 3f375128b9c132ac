import { expect, test } from '@jest/globals';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

test('a key has a name, a time from which it is refused, and the hour of its last use', async () => {
  const account = await rows.account();
  const create = ['key', 'create', '--account', account, '--scopes', 'emails:read'];
  const wish = ['--name', ' old backend ', '--expires', '2999-01-01T02:00:00+01:00'];
  const { key, ...made } = await json(...create, ...wish);
  expect(key).toMatch(/^pr_live_/);
  expect(made).toMatchObject({
    name: 'old backend',
    expires_at: '2999-01-01T01:00:00.000Z',
    last_used_at: null,
  });
  await database.query(`update api_keys set last_used_at = '2026-01-01T05:00:00Z'`);
  expect(await json('key', 'list', '--account', account)).toEqual({
    object: 'list',
    data: [{ ...made, last_used_at: '2026-01-01T05:00:00.000Z' }],
  });
  expect((await cli('key', 'list', '--account', account)).stdout).toMatch(
    /old backend +live +KEY_RATE_LIMIT_PER_MINUTE .* 2026-01-01T05:00:00\.000Z +2999-01-01T01:00:00\.000Z +- +emails:read/,
  );
  for (const wrong of [
    ['--expires', '2025-12-31T23:59:59Z'],
    ['--expires', 'soon'],
    ['--name', ' '],
    ['--name', 'a'.repeat(101)],
  ]) {
    expect((await cli(...create, ...wrong)).code).toBe(2);
  }
  expect(await database.query('select from api_keys')).toHaveLength(1);
});
