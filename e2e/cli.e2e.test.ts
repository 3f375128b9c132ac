import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, runNode } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** `npm run --silent postrider -- ARGS` without npm. */
const postrider = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  runNode(['scripts/run.mjs', 'cli', ...args], {
    cwd: ROOT,
    env: { POSTRIDER_DATA_DIR: '/nonexistent', ...env },
  });

const onDatabase = (...args: string[]) => postrider(args, { DATABASE_URL: database.url });

describe('postrider, as a process', () => {
  test('--json is exactly one document on stdout, stderr is silent, and the exit code is 0', async () => {
    const made = await onDatabase('account', 'create', '--name', 'Acme', '--json');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(made.stdout)).toEqual({ id: expect.stringMatching(/^acct_/), name: 'Acme' });
  });

  test('a failure ends with 1, and with one line on stderr', async () => {
    const away = { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' };
    expect(await postrider(['account', 'create', '--name', 'x', '--json'], away)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'postrider: Postgres is not available: connect ECONNREFUSED 127.0.0.1:1\n',
    });
  });

  test('wrong usage ends with 2, and with one line on stderr', async () => {
    expect(await onDatabase('frobnicate')).toEqual({
      code: 2,
      stdout: '',
      stderr: "postrider: unknown command 'frobnicate' (see postrider --help)\n",
    });
  });
});
