import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { Guard } from './guard.ts';
import { startPostgres, type PostgresOptions, type RunningPostgres } from './postgres.ts';
import { isRunning, waitForExit } from './process-state.ts';

describe('a private Postgres', () => {
  let folder: string;
  let started: RunningPostgres[];
  let guards: Guard[];

  /**
   * The cluster in `data/pg` passes from test to test, always stopped in between: making one is the slow
   * part.
   */
  const start = async (more: Partial<PostgresOptions> = {}): Promise<RunningPostgres> => {
    const postgres = await startPostgres({ dataDir: join(folder, 'data', 'pg'), durable: false, ...more });
    started.push(postgres);
    guards.push(new Guard(postgres.pid, 'SIGQUIT', [folder])); // a killed test run leaves nothing behind
    return postgres;
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-embedded-'));
    chmodSync(folder, 0o755); // as root, the server runs as another user and must be able to enter
  });
  beforeEach(() => {
    started = [];
    guards = [];
  });
  afterEach(async () => {
    for (const postgres of started) if (isRunning(postgres.pid)) await postgres.stop();
    for (const guard of guards) guard.release();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('starts in an empty folder with its settings, on 127.0.0.1 only', async () => {
    const postgres = await start({ settings: { work_mem: '7MB' } });

    expect(await ask(postgres, 'SELECT 1 AS one')).toBe(1);
    expect(await ask(postgres, 'SHOW listen_addresses')).toBe('127.0.0.1');
    expect(await ask(postgres, 'SHOW unix_socket_directories')).toBe('');
    expect(await ask(postgres, 'SHOW server_encoding')).toBe('UTF8');
    expect(await ask(postgres, 'SHOW max_connections')).toBe('200');
    expect(await ask(postgres, 'SHOW work_mem')).toBe('7MB');
    expect(await ask(postgres, 'SHOW fsync')).toBe('off');
    expect(postgres.adopted).toBe(false);
  });

  test('gets the requested environment, and none of ours', async () => {
    const postgres = await start({ environment: { FOR_THE_SERVER: 'yes' } });

    await ask(postgres, 'CREATE TABLE seen (line text)');
    await ask(postgres, `COPY seen FROM PROGRAM 'echo "$FOR_THE_SERVER/$HOME"'`);
    expect(await ask(postgres, 'SELECT line FROM seen')).toBe('yes/');
  });

  test('keeps a durable cluster durable', async () => {
    const postgres = await start({ durable: true });

    expect(await ask(postgres, 'SHOW fsync')).toBe('on');
    expect(await ask(postgres, 'SHOW full_page_writes')).toBe('on');
    expect(await ask(postgres, 'SHOW synchronous_commit')).toBe('on');
  });

  test('refuses clients without the password, which only its owner can read', async () => {
    const postgres = await start({ dataDir: join(folder, 'locked'), password: 'a/b c' });
    const wrong = new URL(postgres.url);
    wrong.password = 'guess';

    expect(await ask(postgres, 'SELECT current_user')).toBe('app');
    await expect(ask({ url: wrong.href }, 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect(statSync(`${postgres.dataDir}.password`).mode & 0o777).toBe(0o600);
    expect(statSync(postgres.dataDir).mode & 0o777).toBe(0o700);
  });

  test('is adopted, not started twice, after its launcher left it running', async () => {
    const first = await start();
    await ask(first, 'CREATE TABLE adopted AS SELECT 41 AS n');
    const second = await start();

    expect(second).toMatchObject({ adopted: true, pid: first.pid, port: first.port, url: first.url });
    expect(await ask(second, 'SELECT n FROM adopted')).toBe(41);
  });

  test('is one server when two launchers start it at the same time', async () => {
    const [first, second] = await Promise.all([start(), start()]);

    expect(second.pid).toBe(first.pid);
    expect([first.adopted, second.adopted].sort()).toEqual([false, true]);
  });

  test('recovers what was committed after kill -9, on the same port', async () => {
    const first = await start({ durable: true });
    await ask(first, 'CREATE TABLE kept AS SELECT 42 AS n');
    first.kill('SIGKILL');
    await waitForExit(first.pid, 20_000);
    const second = await start({ durable: true });

    expect(second.pid).not.toBe(first.pid);
    expect(second.adopted).toBe(false);
    expect(second.url).toBe(first.url);
    expect(await ask(second, 'SELECT n FROM kept')).toBe(42);
  });

  test.each<[string, (dataDir: string) => string[]]>([
    ['a living process', () => []],
    ['the server of a folder with a longer name', (dataDir) => ['-D', `${dataDir}2`, '-c', 'port=1']],
    ['a process that names the folder', (dataDir) => [`${dataDir}.log`, dataDir]],
  ])('starts although a stale postmaster.pid names %s', async (_what, argumentsFor) => {
    const first = await start();
    await first.stop();
    const script = 'setInterval(() => undefined, 1_000_000)';
    const stranger = spawn(process.execPath, ['-e', script, '--', ...argumentsFor(first.dataDir)]);
    try {
      writeFileSync(
        join(first.dataDir, 'postmaster.pid'),
        `${stranger.pid}\n${first.dataDir}\n1\n1\n\n\n\nready\n`,
      );
      const second = await start();

      expect(second.adopted).toBe(false);
      expect(await ask(second, 'SELECT 1 AS one')).toBe(1);
    } finally {
      stranger.kill('SIGKILL');
    }
  });

  test('uses the requested port, and another one when its last port is taken', async () => {
    const port = await freePort();
    const first = await start({ port });
    expect(first.port).toBe(port);
    await first.stop();
    const other = createServer();
    await once(other.listen(port, '127.0.0.1'), 'listening');
    const second = await start();
    await new Promise((resolve) => other.close(resolve));

    expect(second.port).not.toBe(port);
    expect(await ask(second, 'SELECT 1 AS one')).toBe(1);
  });

  test('is gone after stop, with its sessions ended', async () => {
    const postgres = await start();
    const session = new pg.Client({ connectionString: postgres.url });
    const brokenOff = new Promise<Error>((resolve) => void session.on('error', resolve));
    await session.connect();
    await postgres.stop();

    expect((await brokenOff).message).toContain('terminating connection');
    expect(isRunning(postgres.pid)).toBe(false);
    expect(existsSync(join(postgres.dataDir, 'postmaster.pid'))).toBe(false);
    await expect(ask(postgres, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });

  test('leaves nothing on disk when it is throwAway', async () => {
    const postgres = await start({ dataDir: join(folder, 'waste'), throwAway: true });
    await postgres.stop();

    expect(existsSync(postgres.dataDir)).toBe(false);
    expect(existsSync(`${postgres.dataDir}.password`)).toBe(false);
  });

  test('refuses a folder with files that are no cluster, and leaves them', async () => {
    const dataDir = join(folder, 'foreign');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'backup.sql'), 'dear');

    await expect(start({ dataDir })).rejects.toThrow(`${dataDir} has files and no Postgres cluster`);
    expect(readFileSync(join(dataDir, 'backup.sql'), 'utf8')).toBe('dear');
    expect(existsSync(`${dataDir}.password`)).toBe(false);
  });

  test('quotes the output of a server that cannot start', async () => {
    await expect(start({ settings: { max_connections: 'many' } })).rejects.toThrow(
      'invalid value for parameter "max_connections"',
    );
  });

  (process.getuid?.() === 0 ? test : test.skip)(
    'says what is missing when its user has no entry in /etc/passwd',
    async () => {
      const dataDir = join(folder, 'nameless');
      mkdirSync(dataDir);
      chownSync(dataDir, 54_321, 54_321);
      await expect(start({ dataDir, otherRemedy: 'set DATABASE_URL' })).rejects.toThrow(
        /^initdb needs an entry in \/etc\/passwd for the user 54321; add one, or set DATABASE_URL$/,
      );
    },
  );

  test.each([
    ['Postgres 99', undefined],
    ['Postgres 99, or set DATABASE_URL', 'set DATABASE_URL'],
  ])('without programs of its version says what to do: Install %s', async (remedy, otherRemedy) => {
    const dataDir = join(folder, 'later');
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(join(dataDir, 'PG_VERSION'), '99');
    await expect(start({ dataDir, otherRemedy })).rejects.toThrow(new RegExp(`\\. Install ${remedy}$`));
  });

  test('names the lost password file instead of making a new cluster', async () => {
    const postgres = await start();
    await postgres.stop();
    rmSync(`${postgres.dataDir}.password`);

    await expect(start()).rejects.toThrow(`has lost ${postgres.dataDir}.password`);
    expect(existsSync(join(postgres.dataDir, 'postmaster.pid'))).toBe(false);
  });
});

async function ask({ url }: Pick<RunningPostgres, 'url'>, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}
