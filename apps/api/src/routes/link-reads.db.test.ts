import { Readable } from 'node:stream';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { BlobStoreUnavailableError } from '@postrider/blobs';
import type { ByteRange } from '@postrider/blobs';
import { createLinkTokens } from '@postrider/domain';
import type { AccountId, EmailId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { untilWaitingForLock, waitFor, withClient } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupRawConnections } from '../../test/raw-request.ts';
import { SECRET_KEYS, setupApi } from '../../test/start-api.ts';

/* Bytes as they come from a store that is slow, huge, broken or away. */

const MIB = 1024 * 1024;
const HUGE = 1024 * MIB;
const LARGE = Buffer.alloc(12 * MIB, 'x');
const LOOKUPS_MAX = 8;
const WAITING_MAX = 256;

const api = setupApi({
  blobsThrough: () => ({
    sizeOf: async () => sizing(),
    read: async () => null,
    async open(_, range) {
      if (range === undefined) throw new Error('a link reads ranges only');
      const stream = opening(range);
      opened.push({ range, stream });
      return { size: HUGE, stream };
    },
  }),
});
let path: string;
/** The blob store answers so for every blob. */
let sizing: () => Promise<number> | number;
let opening: (range: ByteRange) => Readable;
let opened: { readonly range: ByteRange; readonly stream: Readable }[];
const connections = setupRawConnections();
const { open: unread, connect } = connections;

async function pathOf(accountId?: AccountId): Promise<string> {
  const messageId = await api.rows.message(accountId === undefined ? {} : { accountId });
  const { token } = createLinkTokens(SECRET_KEYS, systemClock).seal({ messageId, attachmentId: null });
  return `/links/${token}`;
}

beforeAll(async () => void (path = await pathOf()));
beforeEach(() => {
  opened = [];
  sizing = () => HUGE;
  opening = bytesOf;
});

const bytesOf = ({ start, end }: ByteRange) => Readable.from([Buffer.alloc(end - start + 1, 'x')]);

const lineAbout = (words: string) =>
  api
    .log()
    .split('\n')
    .filter((line) => line.includes(words));

const linesOfLinks = () => lineAbout('"route":"/links/:id"');

const askUnread = (asked = path) => connections.askUnread(api.port, asked);

describe('a file', () => {
  test('is read only as fast as its client reads, and meanwhile holds nothing of the store', async () => {
    const raw = await askUnread();
    // The API reads until the buffers of both sides are full. Then it reads nothing more.
    let before = 0;
    await waitFor(
      () => {
        const isStill = opened.length > 0 && opened.length === before;
        before = opened.length;
        return isStill;
      },
      { what: 'the reading to stand still', intervalMs: 200 },
    );
    expect(opened.length).toBeLessThan(64);
    expect(opened.every(({ stream }) => stream.destroyed)).toBe(true);
    raw.socket.resetAndDestroy();
    await waitFor(() => linesOfLinks().length > 0, { what: 'the line of the request' });
    expect(lineAbout('broken off')).toEqual([]);
  });

  test('and a range are read in pieces of 1 MiB', async () => {
    sizing = () => 3 * MIB;
    const answer = await fetch(`${api.url}${path}`, { headers: { range: `bytes=9-${2 * MIB}` } });
    expect((await answer.arrayBuffer()).byteLength).toBe(2 * MIB - 8);
    expect(opened.map(({ range }) => range)).toEqual([
      { start: 9, end: MIB + 8 },
      { start: MIB + 9, end: 2 * MIB },
    ]);
  });

  test('is read no further once its client has gone away', async () => {
    const source = new Readable({ read: () => undefined });
    opening = () => source;
    const raw = await connect(api.port);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await waitFor(() => opened.length > 0, { what: 'the blob to be opened' });
    raw.socket.resetAndDestroy();
    const gone = async () => (await request(api.url).get('/healthz')).status === 200;
    await waitFor(gone, { what: 'the API to see it' });
    source.push(Buffer.alloc(MIB));
    source.push(null);
    await waitFor(() => source.destroyed, { what: 'the read to end' });
    expect(opened).toHaveLength(1);
  });

  test('that fails in the middle resets the connection, and is logged', async () => {
    opening = (range) => {
      if (range.start === 0) return bytesOf(range);
      throw new BlobStoreUnavailableError('the blob store is not available');
    };
    const raw = await connect(api.port);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const received = await raw.closed();
    expect(received).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nx+$/);
    const id = /x-request-id: (req_\w+)/.exec(received)?.[1] ?? 'none';
    await waitFor(() => lineAbout(id).length === 2, { what: 'both lines of the request' });
    expect(lineAbout(id).find((line) => line.includes('broken off'))).toContain('"level":"warn"');
  });

  test('arrives whole at a client that is still sending; then the connection ends', async () => {
    const size = 100_000;
    sizing = () => size;
    const raw = await connect(api.port);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    await raw.until('x'.repeat(size));
    raw.send('0\r\n\r\n');
    expect(await raw.closed()).toMatch(/\r\nConnection: close\r\n/i);
  });

  test('is not opened for a HEAD, and the connection stays open', async () => {
    const raw = await connect(api.port);
    raw.send(`HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    raw.send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const received = await raw.closed();
    expect(received).toMatch(new RegExp(`^HTTP/1.1 200 OK\r\n[^]*Content-Length: ${HUGE}\r\n`, 'i'));
    expect(received).toContain('{"status":"ok"}');
    expect(opened).toEqual([]);
  });
});

test('files that clients leave unread take memory of their account, and none of other accounts', async () => {
  const mine = await pathOf((await api.newCaller()).accountId);
  const isRefused = async () => (await askUnread(mine)).received().includes(' 503 ');
  await waitFor(isRefused, { what: 'an answer to be refused', intervalMs: 1 });
  expect(unread.length).toBeGreaterThan(30); // of 2 MiB each
  expectProblem(await request(api.url).get(mine), 'not-ready');
  expect((await request(api.url).head(mine)).status).toBe(200);
  const theirs = await askUnread(await pathOf((await api.newCaller()).accountId));
  expect(theirs.received()).toMatch(/^HTTP\/1.1 200 /);
});

test('a client that leaves while it waits for a read costs no read', async () => {
  opening = () => new Readable({ read: () => undefined });
  const mine = await pathOf((await api.newCaller()).accountId);
  let sized = 0;
  sizing = () => {
    sized += 1;
    return HUGE;
  };
  const linesBefore = linesOfLinks().length;
  for (let n = 0; n < 8; n += 1) {
    const raw = await connect(api.port);
    raw.send(`GET ${mine} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await waitFor(() => sized > n, { what: 'the link to be looked up' });
  }
  await waitFor(() => opened.length === 4, { what: 'four reads' });
  for (const { socket } of unread) socket.resetAndDestroy();
  await waitFor(() => linesOfLinks().length === linesBefore + 8, { what: 'the API to see all leave' });
  opening = bytesOf;
  for (const { stream } of opened.splice(0)) stream.destroy(new Error('the first reads are over'));
  const last = await fetch(`${api.url}${mine}`, { headers: { range: 'bytes=0-0' } });
  expect(await last.text()).toBe('x');
  expect(opened).toHaveLength(1);
});

test('an account has four reads of the blob store at a time, and the read of another account passes', async () => {
  opening = () => new Readable({ read: () => undefined });
  const ask = async (asked: string): Promise<void> => {
    const raw = await connect(api.port);
    raw.send(`GET ${asked} HTTP/1.1\r\nHost: a\r\n\r\n`);
  };
  for (let n = 0; n < 6; n += 1) await ask(path);
  await waitFor(() => opened.length === 4, { what: 'four reads' });
  await ask(await pathOf((await api.newCaller()).accountId));
  await waitFor(() => opened.length > 4, { what: 'the read of the other account' });
  expect(opened).toHaveLength(5);
  for (const { socket } of unread) socket.destroy();
  for (const { stream } of opened) stream.destroy(new Error('the test is over'));
});

test('the links of one client address wait for each other before they ask the store', async () => {
  let asked = 0;
  const gate = Promise.withResolvers<number>();
  sizing = async () => {
    asked += 1;
    return gate.promise;
  };
  const heads = Array.from({ length: LOOKUPS_MAX + 4 }, async () => request(api.url).head(path));
  await waitFor(() => asked === LOOKUPS_MAX, { what: 'the first links to be looked up' });
  expect((await request(api.url).get('/v1/webhooks')).status).toBe(401);
  expect(asked).toBe(LOOKUPS_MAX);
  gate.resolve(1);
  for (const { status } of await Promise.all(heads)) expect(status).toBe(200);
});

test('256 links of one client address wait, and a further one is 503', async () => {
  const gate = Promise.withResolvers<number>();
  sizing = () => gate.promise;
  const statuses: number[] = [];
  const heads = Array.from({ length: LOOKUPS_MAX + WAITING_MAX + 1 }, async () => {
    const { status } = await request(api.url).head(path);
    statuses.push(status);
  });
  await waitFor(() => statuses.length > 0, { what: 'an answer' });
  gate.resolve(1);
  await Promise.all(heads);
  expect(statuses[0]).toBe(503);
  expect(statuses.filter((status) => status === 200)).toHaveLength(LOOKUPS_MAX + WAITING_MAX);
});

test('an account has one read from Postgres at a time, for the attachments of all its mail', async () => {
  const by = await api.newCaller({ scopes: ['emails:send'] });
  const attachments = [{ filename: 'a', content: Buffer.alloc(3 * MIB).toString('base64') }];
  const message = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hello', attachments };
  for (let n = 0; n < 3; n += 1) {
    const sent = await request(api.url)
      .post('/v1/emails')
      .set('authorization', by.authorization)
      .send(message);
    const { id } = sent.body as { id: EmailId };
    // No request may bring so much. Less would fit between the API and its client.
    await api.database.query('update email_attachments set content = $2 where email_id = $1', [id, LARGE]);
    const { token } = createLinkTokens(SECRET_KEYS, systemClock).seal({ emailId: id, position: 0 });
    expect((await askUnread(`/links/${token}`)).received()).toMatch(/^HTTP\/1.1 200 /);
  }
  await withClient(api.database.url, async (session) => {
    await session.query('begin; lock table email_attachments in access exclusive mode');
    for (const { socket } of unread) socket.resume();
    await untilWaitingForLock(api.database);
    for (let n = 0; n < 10; n += 1) expect((await request(api.url).get('/v1/webhooks')).status).toBe(401);
    const waiting = await api.database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(waiting).toHaveLength(1);
    for (const { socket } of unread) socket.destroy();
    await session.query('rollback');
  });
});

describe('while the blob store is away', () => {
  const away = (): never => {
    throw new BlobStoreUnavailableError('the blob store file:/blobs is not available (EIO)', {
      cause: new Error('EIO'),
    });
  };

  test('a link is 503, also for a range and a HEAD, and the log says why', async () => {
    sizing = away;
    expectProblem(await request(api.url).get(path), 'not-ready');
    expectProblem(await request(api.url).get(path).set('range', 'bytes=0-1'), 'not-ready');
    expect((await request(api.url).head(path)).status).toBe(503);
    const lines = lineAbout('request not served: the blob store is not available');
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: 'warn' });
  });

  test('it works again once the blob store does', async () => {
    sizing = () => MIB;
    const response = await fetch(`${api.url}${path}`);
    expect({ status: response.status, bytes: (await response.arrayBuffer()).byteLength }).toEqual({
      status: 200,
      bytes: MIB,
    });
  });
});
