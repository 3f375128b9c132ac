import { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  adminDatabaseUrl,
  CLOSED_PORT,
  createTestAuthority,
  createTestDatabase,
  setup,
  startTcpListener,
  waitFor,
} from '@postrider/testing';
import { openDatabase } from './database.ts';
import type { Database } from './database.ts';
import {
  isOutage,
  isUnavailable,
  LockConflictError,
  mappingUnavailable,
  StoreUnavailableError,
  unavailableInWords,
} from './errors.ts';

const database = setup(createTestDatabase, (opened) => opened.drop());
let opened: Database[] = [];

afterEach(async () => {
  for (const db of opened) await db.close();
  opened = [];
});

function open(databaseUrl = database.url): Database {
  const options = { databaseUrl, size: 1, applicationName: 'errors-test', onError: () => undefined };
  const db = openDatabase(options, { send: () => undefined, close: async () => undefined });
  opened.push(db);
  return db;
}

/** The same statement by each of the ways that the stores take. */
const WAYS = [
  ['pg', (db: Database, sql: string): Promise<unknown> => db.pool.query(sql)],
  ['Prisma', (db: Database, sql: string): Promise<unknown> => db.prisma.$queryRawUnsafe(sql)],
  [
    'a transaction',
    (db: Database, sql: string): Promise<unknown> =>
      mappingUnavailable(() => db.prisma.$transaction((tx) => tx.$queryRawUnsafe(sql), { maxWait: 20_000 })),
  ],
] as const;

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('nothing failed');
    },
    (error: unknown) => error,
  );
}

/** A message of Postgres that has fewer than 128 bytes. */
function message(type: string, body: string): string {
  return `${type}\0\0\0${String.fromCodePoint(4 + body.length)}${body}`;
}

describe.each(WAYS)('by way of %s', (_, query) => {
  test('nobody listening is unavailable', async () => {
    const db = open(`postgres://a:b@127.0.0.1:${CLOSED_PORT}/c`);
    expect(isUnavailable(await errorOf(query(db, 'select 1')))).toBe(true);
  });

  test('a connection that is cut before it stands is unavailable', async () => {
    const rude = await startTcpListener((socket) => socket.destroy());
    const db = open(`postgres://a:b@127.0.0.1:${rude.port}/c`);
    expect(isUnavailable(await errorOf(query(db, 'select 1')))).toBe(true);
    await rude.close();
  });

  test('a name that does not resolve is unavailable', async () => {
    const db = open('postgres://a:b@postgres.invalid/c');
    expect(isUnavailable(await errorOf(query(db, 'select 1')))).toBe(true);
  });

  test.each([
    ['a wrong password', { password: 'wrong' }],
    ['a database that does not exist', { pathname: '/nowhere' }],
  ])('%s is unavailable: an operator corrects it while the process runs', async (__, change) => {
    const { href } = Object.assign(new URL(adminDatabaseUrl()), change);
    expect(isUnavailable(await errorOf(query(open(href), 'select 1')))).toBe(true);
  });

  test('a missing file that the URL names is unavailable', async () => {
    const db = open(`${database.url}?sslmode=disable&sslrootcert=/nowhere/ca.pem`);
    expect(isUnavailable(await errorOf(query(db, 'select 1')))).toBe(true);
  });

  test('a server without TLS is unavailable when the URL asks for it', async () => {
    const db = open(`${database.url}?sslmode=verify-full`);
    expect(isUnavailable(await errorOf(query(db, 'select 1')))).toBe(true);
  });

  test('a certificate that nobody vouches for is unavailable', async () => {
    const authority = await createTestAuthority();
    const { certPem: cert, keyPem: key } = await authority.selfSigned({ names: ['127.0.0.1'] });
    const server = await startTcpListener((socket) => {
      socket.once('data', () => {
        socket.write('S');
        new TLSSocket(socket, { isServer: true, cert, key }).on('error', () => undefined);
      });
    });
    const db = open(`postgres://a:b@127.0.0.1:${server.port}/c?sslmode=verify-full`);
    expect(isUnavailable(await errorOf(query(db, 'select 1')))).toBe(true);
    await server.close();
  });

  test.each([
    ['a pooler without a free session', 'XX000'],
    ['a role that may not log in', '28000'],
    ['a database that accepts no connections', '55000'],
    ['a role without the right to connect', '42501'],
  ])('%s is unavailable (SQLSTATE %s)', async (__, state) => {
    const refusal = message('E', `SFATAL\0C${state}\0Mrefused\0\0`);
    const refusing = await startTcpListener((socket) => socket.once('data', () => socket.end(refusal)));
    const pooler = await startTcpListener((socket) => {
      socket.once('data', () => {
        socket.write(message('R', '\0\0\0\0') + message('Z', 'I')); // logged in, ready
        socket.once('data', () => socket.end(refusal));
      });
    });
    for (const { port } of [refusing, pooler]) {
      const error = await errorOf(query(open(`postgres://a:b@127.0.0.1:${port}/c`), 'select 1'));
      expect(isUnavailable(error)).toBe(true);
    }
    await Promise.all([refusing.close(), pooler.close()]);
  });

  test('a server that ends the session in the middle of a statement is unavailable', async () => {
    const error = await errorOf(query(open(), 'select pg_terminate_backend(pg_backend_pid())'));
    expect(isUnavailable(error)).toBe(true);
  });

  test('a statement that takes too long is unavailable', async () => {
    const error = await errorOf(query(open(), `do $$ begin raise sqlstate '57014'; end $$`));
    expect(isUnavailable(error)).toBe(true);
  });

  test.each([
    ['a server that went away behind a pooler', '08006'],
    ['a pooler that lost its server', '08P01'],
    ['a session that was idle in its transaction for too long', '25P03'],
    ['too many connections', '53300'],
    ['a full disk', '53100'],
    ['a server that starts', '57P03'],
    ['a disk that fails', '58030'],
    ['a server that only reads', '25006'],
    ['a lock that is not had in time', '55P03'],
  ])('%s is unavailable (SQLSTATE %s)', async (__, state) => {
    const error = await errorOf(query(open(), `do $$ begin raise sqlstate '${state}'; end $$`));
    expect(isUnavailable(error)).toBe(true);
  });

  test.each(['select * from nowhere', 'select 1/0', 'selec'])(
    'a fault of our own is not: %s',
    async (sql) => {
      expect(isUnavailable(await errorOf(query(open(), sql)))).toBe(false);
    },
  );
});

test.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])(
  'a socket’s %s is an outage',
  (code) => {
    const broken = Object.assign(new Error('the socket failed'), { code });
    expect(isOutage(new Error('wrapped', { cause: broken }))).toBe(true);
  },
);

test('what is no error is not', () => {
  for (const value of [undefined, null, 'ECONNRESET', 7, {}]) expect(isUnavailable(value)).toBe(false);
});

describe('mappingUnavailable', () => {
  test('turns what means that Postgres is away into a StoreUnavailableError, once', async () => {
    const gone = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const error = await errorOf(mappingUnavailable(() => mappingUnavailable(() => Promise.reject(gone))));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ cause: gone, message: 'Postgres is not available: read ECONNRESET' });
  });

  test.each(WAYS)('says that a lock is taken, not that Postgres is away, by way of %s', async (_, query) => {
    const refused = query(open(), `do $$ begin raise 'taken' using errcode = '55P03'; end $$`);
    const error = await errorOf(mappingUnavailable(() => refused));
    expect(error).toBeInstanceOf(LockConflictError);
    expect(String(error)).toMatch(/^LockConflictError: another session holds a lock: .*taken/s);
    expect(unavailableInWords(error)).toBe('another session holds a lock');
  });

  test.each(WAYS)('says that Postgres cancelled a statement, by way of %s', async (_, query) => {
    const refused = query(open(), `do $$ begin raise 'too long' using errcode = '57014'; end $$`);
    const error = await errorOf(mappingUnavailable(() => refused));
    expect(String(error)).toMatch(/^StoreUnavailableError: Postgres cancelled a statement: .*too long/s);
    expect(unavailableInWords(error)).toBe('Postgres cancelled a statement');
  });

  test('lets every other error and every result pass as it is', async () => {
    const other = new Error('other');
    expect(await errorOf(mappingUnavailable(() => Promise.reject(other)))).toBe(other);
    expect(await mappingUnavailable(async () => 7)).toBe(7);
  });
});

test('a transaction that was cut off for its length is unavailable, and so is one that found no connection', async () => {
  const { prisma } = open();
  const { promise: holds, resolve: begun } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const long = errorOf(
    prisma.$transaction(
      async (tx) => {
        begun();
        await released;
        await tx.$queryRawUnsafe('select 1');
      },
      { timeout: 200, maxWait: 20_000 },
    ),
  );
  await holds;
  const waiting = await errorOf(prisma.$transaction((tx) => tx.$queryRawUnsafe('select 1'), { maxWait: 20 }));
  expect(isUnavailable(waiting)).toBe(true);
  const inTransaction = `select from pg_stat_activity where datname = current_database() and state like 'idle in tr%'`;
  await waitFor(async () => (await database.query(inTransaction)).length === 0, {
    what: 'the transaction to be cut off',
  });
  release();
  expect(isUnavailable(await long)).toBe(true);
});
