import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startTcpListener } from '@postrider/testing';
import { runInProcess } from '../test/run-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ACCOUNT = 'acct_01jd0000000000000000000001';
const WEBHOOK = 'wh_01jd0000000000000000000001';
const DEAD = 'dl_01jd0000000000000000000001';
const TIME = '2026-01-02T00:00:00Z';
const STOP = ['dead-letters', 'replay', '--stop', '--webhook', WEBHOOK];
/** Under Jest, Node's socket errors come from another realm, so they are printed with their name. */
const REFUSED = /^postrider: Postgres is not available: (Error: )?connect ECONNREFUSED 127\.0\.0\.1:1\n$/;
/** A command finds wrong usage before it needs a database. */
const nowhere = { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' };

test('--version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect(await runInProcess(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

describe('wrong usage ends with 2, nothing on stdout and one line on stderr', () => {
  test.each([
    [[], 'a command is missing'],
    [['key'], 'a command is missing'],
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['key', 'frobnicate'], "unknown command 'frobnicate'"],
    [['status', '--jsn'], "unknown option '--jsn' (Did you mean --json?)"],
    [['migrate', 'now'], 'too many arguments'],
    [['account', 'create'], '--name'],
    [['account', 'create', '--name', '  '], 'A name has 1 to 200 characters.'],
    [['account', 'limit', 'me', '--webhooks', '5'], '"me" is not the id of an account'],
    [['account', 'limit', ACCOUNT, '--webhooks', '-1'], 'whole number from 0 to 10000'],
    [['account', 'limit', ACCOUNT, '--webhooks', '10001'], 'whole number from 0 to 10000'],
    [['account', 'find', '  '], 'a text to find has 1 to 320 characters'],
    [['account', 'find', 'x'.repeat(321)], 'a text to find has 1 to 320 characters'],
    [['account', 'find', 'a\0b'], 'and no NUL'],
    [['account', 'list', '--after', 'me'], '"me" is not the id of an account'],
    [['account', 'show', 'me'], '"me" is not the id of an account'],
    [['suppressions', 'remove', '--account', ACCOUNT], '--address'],
    [
      ['suppressions', 'remove', '--account', ACCOUNT, '--address', 'Bob <bob@b.example>'],
      '"Bob <bob@b.example>" is not an e-mail address',
    ],
    [
      ['suppressions', 'remove', '--account', ACCOUNT, '--address', 'b@b.example', '--reason', ' '],
      'A reason has 1 to',
    ],
    [['webhooks', 'list'], '--account'],
    [['webhooks', 'list', '--account', ACCOUNT, '--after', ACCOUNT], 'is not the id of a webhook'],
    [['webhooks', 'show', ACCOUNT], 'is not the id of a webhook'],
    [['key', 'create', '--account', ACCOUNT], '--scopes'],
    [['key', 'create', '--account', ACCOUNT, '--scopes', 'emails:send,mail'], 'Unknown: mail.'],
    [['key', 'create', '--account', ACCOUNT, '--scopes', ','], 'At least one of'],
    [['key', 'create', '--account', 'me', '--scopes', 'emails:send'], '"me" is not the id of an account'],
    [
      ['key', 'create', '--account', ACCOUNT, '--scopes', 'emails:send', '--kind', 'free'],
      'choices are live, test',
    ],
    [
      ['key', 'create', '--account', ACCOUNT, '--kind', 'test', '--scopes', 'emails:send,webhooks:manage'],
      'a test key cannot have webhooks:manage: only emails:send, emails:read, inbound:read, inbound:send, inbound:manage',
    ],
    [['key', 'create', '--account', ACCOUNT, '--scopes', 'emails:send', '--rate-limit', '0'], 'whole number'],
    [
      ['key', 'create', '--account', ACCOUNT, '--scopes', 'emails:send', '--rate-limit', '1e3'],
      'whole number',
    ],
    [['key', 'revoke', 'acct_01jd0000000000000000000001'], 'is not the id of a key'],
    [['dead-letters', 'list'], '--account'],
    [['dead-letters', 'replay', '--account', ACCOUNT], 'name dead letters, or --all'],
    [['dead-letters', 'replay', '--account', ACCOUNT, '--all'], '--all needs --webhook'],
    [
      ['dead-letters', 'replay', DEAD, '--account', ACCOUNT, '--webhook', WEBHOOK],
      '--webhook goes with --all',
    ],
    [
      ['dead-letters', 'replay', DEAD, '--account', ACCOUNT, '--type', 'email.sent'],
      '--type goes with --all',
    ],
    [['dead-letters', 'replay', '--account', ACCOUNT, '--all', '--reason', 'tired'], 'Allowed choices are'],
    [['dead-letters', 'list', '--account', ACCOUNT, '--type', 'moon'], 'Allowed choices are email.sent'],
    [['dead-letters', 'list', '--account', ACCOUNT, '--after', 'x'], '"x" is not the id of a dead letter'],
    [['dead-letters', 'replay', DEAD, '--account', ACCOUNT, '--all', '--webhook', WEBHOOK], 'not both'],
    [['dead-letters', 'replay', 'x', '--account', ACCOUNT], '"x" is not the id of a dead letter'],
    [['dead-letters', 'replay', DEAD, '--rate', '1'], '--rate goes with --all'],
    [['dead-letters', 'replay', DEAD, '--reason', 'rejected'], '--reason goes with --all'],
    [['dead-letters', 'replay', DEAD, '--since', TIME], '--since goes with --all'],
    [['dead-letters', 'replay', DEAD, '--until', TIME], '--until goes with --all'],
    [['dead-letters', 'replay', '--all', '--account', ACCOUNT, '--rate', '1'], '--all needs --webhook'],
    [['dead-letters', 'replay', '--all', '--dry-run'], '--all needs --webhook'],
    [['dead-letters', 'replay', '--stop'], '--stop needs --webhook'],
    [['dead-letters', 'replay', '--stop', DEAD], '--stop goes with --webhook alone'],
    [[...STOP, '--all'], '--stop goes with --webhook alone'],
    [[...STOP, '--type', 'email.sent'], '--stop goes with --webhook alone'],
    [[...STOP, '--reason', 'rejected'], '--stop goes with --webhook alone'],
    [[...STOP, '--since', TIME], '--stop goes with --webhook alone'],
    [[...STOP, '--until', TIME], '--stop goes with --webhook alone'],
    [[...STOP, '--rate', '1'], '--stop goes with --webhook alone'],
    [[...STOP, '--dry-run'], '--stop goes with --webhook alone'],
    [['dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--rate', '0'], 'whole number from 1 to 2000'],
    [['recover'], 'webhook'],
    [['recover', ACCOUNT], 'is not the id of a webhook'],
    [['recover', WEBHOOK, '--dry-run'], '--since is missing'],
    [['recover', WEBHOOK, '--rate', '5'], '--since is missing'],
    [['recover', WEBHOOK, '--only', 'all'], '--since is missing'],
    [['recover', WEBHOOK, '--types', 'email.sent'], '--since is missing'],
    [['recover', WEBHOOK, '--until', TIME], '--since is missing'],
    [['recover', WEBHOOK, '--since', 'yesterday'], 'not a time such as 2026-11-20T10:00:00Z'],
    [['recover', WEBHOOK, '--since', TIME, '--until', TIME], '--until is not after --since'],
    [['recover', WEBHOOK, '--since', TIME, '--only', 'some'], 'undelivered, all'],
    [['recover', WEBHOOK, '--since', TIME, '--types', 'email.sent,moon'], 'Unknown: moon.'],
    [['recover', WEBHOOK, '--since', TIME, '--rate', '2001'], 'whole number from 1 to 2000'],
    [['recover', WEBHOOK, '--since', TIME, '--stop'], '--stop goes alone'],
  ])('%j', async (args, words) => {
    const { code, stdout, stderr } = await runInProcess(args, nowhere);
    expect(stderr).toContain(words);
    expect(stderr).toMatch(/^postrider: [^\n]+\n$/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

test.each([
  [['postgres://app:hunter2@db/x'], 'postgres://app:***@db/x'],
  [['webhooks', 'show', 'whsec_hunter2'], 'whsec_[redacted]'],
  [['status', '--url=redis://:hunter2@r'], 'redis://:***@r'],
])('the error line has no secret of an argument: %j', async (args, shown) => {
  const { code, stderr } = await runInProcess(args, nowhere);
  expect({ code, hidden: !stderr.includes('hunter2') }).toEqual({ code: 2, hidden: true });
  expect(stderr).toContain(shown);
});

test('--help is an answer: exit code 0, on stdout', async () => {
  const { code, stdout, stderr } = await runInProcess(['dead-letters', '--help'], {});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('replay');
});

describe('a failure ends with 1, nothing on stdout and one line on stderr', () => {
  const commands = [
    ['migrate', '--json'],
    ['account', 'create', '--name', 'x', '--json'],
    ['key', 'list', '--account', ACCOUNT],
    ['dead-letters', 'replay', DEAD, '--account', ACCOUNT, '--json'],
  ];

  test.each(commands)('without a DATABASE_URL: %s %s', async (...args) => {
    expect(await runInProcess(args, {})).toEqual({
      code: 1,
      stdout: '',
      stderr: 'postrider cli: configuration: DATABASE_URL is required\n',
    });
  });

  test.each(commands)('while nothing listens there, without the password: %s %s', async (...args) => {
    const { code, stdout, stderr } = await runInProcess(args, nowhere);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(REFUSED);
  });

  test('while the server accepts but never answers', async () => {
    const silent = await startTcpListener();
    const url = `postgres://nobody:secret@127.0.0.1:${silent.port}/none`;
    const { code, stdout, stderr } = await runInProcess(['migrate', '--json'], { DATABASE_URL: url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^postrider: Postgres is not available: [^\n]*timeout[^\n]*\n$/);
    await silent.close();
  });
});

describe('status', () => {
  test('of an unreachable Postgres is a document with the fault, and exit code 1', async () => {
    const { code, stdout, stderr } = await runInProcess(['status', '--json'], nowhere);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      postgres: { reachable: false },
      migrations: null,
      backlog: null,
    });
    expect(stderr).toMatch(REFUSED);
  });
});

describe('without a DATABASE_URL beside an `npm start`', () => {
  const stateOf = (pid: number, redisUrl: string | null = null) =>
    writeFileSync(
      join(folder, 'running.json'),
      JSON.stringify({ postgres: { pid, url: nowhere.DATABASE_URL }, redisUrl }),
    );

  test('its Postgres is used while it runs, with a note on stderr', async () => {
    stateOf(process.pid);
    const { code, stderr } = await runInProcess(['migrate'], {}, folder);
    expect(code).toBe(1);
    const [note, ...rest] = stderr.split('\n');
    expect(note).toBe('postrider: DATABASE_URL is not set: using the database of the running `npm start`');
    expect(rest.join('\n')).toMatch(REFUSED);
  });

  test('its Redis is used also when REDIS_URL is empty', async () => {
    stateOf(process.pid, 'redis://127.0.0.1:1');
    const { stdout } = await runInProcess(['status', '--json'], { REDIS_URL: ' ' }, folder);
    expect(JSON.parse(stdout)).toMatchObject({ redis: { reachable: false } });
  });

  test('the file of an ended system is not used', async () => {
    stateOf(2 ** 22 + 1); // above the largest process id of Linux
    const { stderr } = await runInProcess(['migrate'], {}, folder);
    expect(stderr).toBe('postrider cli: configuration: DATABASE_URL is required\n');
  });

  test.each(['{', '{}', '{"postgres":{"pid":"x"},"redisUrl":null}'])(
    'a damaged file is named: %s',
    async (text) => {
      writeFileSync(join(folder, 'running.json'), text);
      const { code, stderr } = await runInProcess(['migrate'], {}, folder);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^postrider: \S+running\.json is damaged; remove it, or set DATABASE_URL\n$/);
    },
  );
});
