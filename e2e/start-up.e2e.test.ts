import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  adminDatabaseUrl,
  CLOSED_PORT,
  createTestDatabase,
  setup,
  startProcess,
  withClient,
} from '@postrider/testing';
import type { ProcessName } from '@postrider/testing';

/* A process that cannot run says why, in one line, and exits 1. */

const GOOD = {
  DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:1/none',
  SECRETS_KEY: randomBytes(32).toString('base64'),
  PORT: '0',
  METRICS_PORT: '0',
};

/** Starts a process and waits for its end. @returns its exit code and its lines on stderr */
async function endOf(name: ProcessName, env: Readonly<Record<string, string>>) {
  const started = startProcess(name, { ...GOOD, ...env });
  const code = await started.exited();
  return { code, stderr: started.stderr };
}

const database = setup(createTestDatabase, (opened) => opened.drop());

test('a worker with ses and without PUBLIC_URL warns that mail will have no links to unsubscribe', async () => {
  const own = await createTestDatabase(); // it keeps the mail provider
  const env = { DATABASE_URL: own.url, MAIL_PROVIDER: 'ses', AWS_REGION: 'eu-central-1' };
  const started = startProcess('worker', { ...GOOD, ...env });
  await started.port();
  await started.kill();
  await own.drop();
  const warnings = started.log.filter(({ msg }) => String(msg).startsWith('PUBLIC_URL'));
  expect(warnings.map(({ level }) => level)).toEqual(['warn']);
});

test.each([
  ['warns once that links will not be https', {}, ['warn']],
  ['with PUBLIC_URL gives no warning', { PUBLIC_URL: 'https://mail.example.com' }, []],
  ['for development gives no warning', { NODE_ENV: 'development' }, []],
])('an API without Postgres %s', async (_, env, levels) => {
  const started = startProcess('api', { ...GOOD, ...env });
  expect(await started.exited()).toBe(1);
  const warnings = started.log.filter(({ msg }) => String(msg).startsWith('PUBLIC_URL'));
  expect(warnings.map(({ level }) => level)).toEqual(levels);
});

describe('a bad configuration stops the process with one line that names the variable', () => {
  test.each<[ProcessName, Readonly<Record<string, string>>]>([
    ['api', { PORT: 'http', KEY_RATE_LIMIT_PER_MINUTE: '-1', SECRETS_KEY: 'short', DATABASE_URL: '' }],
    ['all', { ROLES: 'api,pigeon' }],
    ['console', { CONSOLE_KEYS: '' }],
  ])('%s: %j', async (name, env) => {
    const { code, stderr } = await endOf(name, env);
    expect(code).toBe(1);
    expect(stderr).toHaveLength(1);
    for (const key of Object.keys(env)) expect(stderr[0]).toContain(key);
    expect(stderr[0]).not.toContain('hunter2');
  });

  test('a setting for development only stops a worker, unless NODE_ENV=development', async () => {
    const env = { DELIVERY_ALLOWED_NETWORKS: '127.0.0.1/32' };
    const { code, stderr } = await endOf('worker', env);
    expect(code).toBe(1);
    expect(stderr).toEqual([expect.stringContaining('DELIVERY_ALLOWED_NETWORKS is for development only')]);
    const started = startProcess('worker', { ...GOOD, NODE_ENV: 'development', ...env });
    await started.exited();
    const said = started.log.filter(({ msg }) => String(msg).startsWith('DEVELOPMENT ONLY'));
    expect(said.map(({ level }) => level)).toEqual(['warn']);
  });
});

describe('a database that is not migrated stops the process with one line that names the remedy', () => {
  const empty = `test_empty_${randomBytes(6).toString('hex')}`;

  beforeAll(() => asAdmin(`create database ${empty}`));
  afterAll(() => asAdmin(`drop database ${empty} with (force)`));

  test.each(['api', 'relay', 'worker', 'all'] as const)('%s on an empty database', async (name) => {
    const url = new URL(adminDatabaseUrl());
    url.pathname = `/${empty}`;
    const { code, stderr } = await endOf(name, { DATABASE_URL: url.href });
    expect(code).toBe(1);
    expect(stderr).toEqual([
      expect.stringMatching(
        /^postrider: cannot start database: the database lacks \d+ migrations; run `npm run migrate` first, in an image `node dist\/cli\.js migrate`$/,
      ),
    ]);
  });

  test.each(['relay', 'worker'] as const)('%s without the tables of the queue', async (name) => {
    await database.query('drop schema if exists bullmq cascade');
    const { code, stderr } = await endOf(name, { DATABASE_URL: database.url });
    expect(code).toBe(1);
    expect(stderr).toEqual([expect.stringContaining('npm run migrate')]);
  });
});

test.each(['api', 'all'] as const)(
  '%s without a Postgres to reach says so in one line, without the password',
  async (name) => {
    const url = `postgres://app:hunter2@127.0.0.1:${CLOSED_PORT}/none`;
    const { code, stderr } = await endOf(name, { DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toEqual([
      `postrider: cannot start database: Postgres is not available: connect ECONNREFUSED 127.0.0.1:${CLOSED_PORT}`,
    ]);
  },
);

test('a worker says in one line that Postgres refuses its login', async () => {
  const url = Object.assign(new URL(database.url), { password: 'hunter2' });
  const { code, stderr } = await endOf('worker', { DATABASE_URL: url.href });
  expect(code).toBe(1);
  expect(stderr).toEqual([
    `postrider: cannot start database: Postgres is not available: password authentication failed for user "${url.username}"`,
  ]);
});

async function asAdmin(sql: string): Promise<void> {
  await withClient(adminDatabaseUrl(), (client) => client.query(sql));
}
