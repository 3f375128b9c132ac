import { Readable } from 'node:stream';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { BlobStoreUnavailableError } from '@postrider/blobs';
import { createLinkTokens } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { openRaw } from '../../test/raw-request.ts';
import { SECRET_KEYS, setupApi } from '../../test/start-api.ts';

/* Bytes as they come from a store that is slow, huge, broken or away. */

const CHUNK = Buffer.alloc(64 * 1024, 'x');
const HUGE_CHUNKS = 16 * 1024;
const HUGE = HUGE_CHUNKS * CHUNK.length;

/** A stream of one gigabyte. It makes its bytes while they are read. */
class Source extends Readable {
  chunks = 0;
  override _read(): void {
    this.chunks += 1;
    this.push(this.chunks > HUGE_CHUNKS ? null : CHUNK);
  }
}

const api = setupApi({
  blobsThrough: () => ({
    sizeOf: async () => (opening(), HUGE),
    read: async () => null,
    async open() {
      const stream = opening();
      opened.push(stream);
      return { size: HUGE, stream };
    },
  }),
});
let path: string;
/** The blob store gives this stream, or this failure, for every blob. */
let opening: () => Readable;
let opened: Readable[];

beforeAll(async () => {
  const messageId = await api.rows.message();
  const { token } = createLinkTokens(SECRET_KEYS, systemClock).seal({ messageId, attachmentId: null });
  path = `/links/${token}`;
});
beforeEach(() => {
  opened = [];
});

const lineAbout = (words: string) =>
  api
    .log()
    .split('\n')
    .filter((line) => line.includes(words));

describe('a stream', () => {
  test('is read only as fast as its client reads, and closed when the client goes away', async () => {
    const source = new Source();
    opening = () => source;
    const raw = await openRaw(api.port);
    raw.socket.pause();
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    // The API reads until the buffers of both sides are full. Then it reads nothing more.
    let before = -1;
    await waitFor(
      () => {
        const isStill = source.chunks > 0 && source.chunks === before;
        before = source.chunks;
        return isStill;
      },
      { what: 'the stream to stand still', intervalMs: 200 },
    );
    expect(source.chunks * CHUNK.length).toBeLessThan(64 * 1024 * 1024);
    raw.socket.destroy();
    await waitFor(() => source.destroyed, { what: 'the stream to be closed' });
    expect(lineAbout('broken off')).toEqual([]);
  });

  test('is also closed when its client goes away before the first byte', async () => {
    const source = new Readable({ read: () => undefined });
    opening = () => source;
    const raw = await openRaw(api.port);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await waitFor(() => opened.length > 0, { what: 'the blob to be opened' });
    raw.socket.resetAndDestroy();
    await waitFor(() => source.destroyed, { what: 'the stream to be closed' });
  });

  test('that fails in the middle resets the connection, and is logged', async () => {
    const source = new Readable({ read: () => undefined });
    opening = () => source;
    const raw = await openRaw(api.port);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await waitFor(() => opened.length > 0, { what: 'the blob to be opened' });
    source.push('the beginning');
    await raw.until('the beginning');
    source.destroy(new BlobStoreUnavailableError('the blob store is not available'));
    const received = await raw.closed();
    expect(received).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nthe beginning$/);
    const id = /x-request-id: (req_\w+)/.exec(received)?.[1] ?? 'none';
    await waitFor(() => lineAbout(id).length === 2, { what: 'both lines of the request' });
    expect(lineAbout(id).find((line) => line.includes('broken off'))).toContain('"level":"warn"');
  });

  test('arrives whole at a client that is still sending; then the connection ends', async () => {
    const small = Buffer.alloc(100_000, 'y');
    opening = () => Readable.from([small]);
    const raw = await openRaw(api.port);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    await raw.until('y'.repeat(small.length));
    raw.send('0\r\n\r\n');
    expect(await raw.closed()).toMatch(/\r\nConnection: close\r\n/i);
  });

  test('is not opened for a HEAD, and the connection stays open', async () => {
    const source = new Source();
    opening = () => source;
    const raw = await openRaw(api.port);
    raw.send(`HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    raw.send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const received = await raw.closed();
    expect(received).toMatch(new RegExp(`^HTTP/1.1 200 OK\r\n[^]*Content-Length: ${HUGE}\r\n`, 'i'));
    expect(received).toContain('{"status":"ok"}');
    expect(opened).toEqual([]);
  });
});

describe('while the blob store is away', () => {
  const away = (): never => {
    throw new BlobStoreUnavailableError('the blob store file:/blobs is not available (EIO)', {
      cause: new Error('EIO'),
    });
  };

  test('a link is 503, also for a range and a HEAD, and the log says why', async () => {
    opening = away;
    expectProblem(await request(api.url).get(path), 'not-ready');
    expectProblem(await request(api.url).get(path).set('range', 'bytes=0-1'), 'not-ready');
    expect((await request(api.url).head(path)).status).toBe(503);
    const lines = lineAbout('request not served: the blob store is not available');
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: 'warn' });
  });

  test('it works again once the blob store does', async () => {
    opening = () => new Source();
    const response = await fetch(`${api.url}${path}`);
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    expect(await reader?.read()).toMatchObject({ done: false });
    await reader?.cancel();
    await waitFor(() => opened[0]?.destroyed, { what: 'the stream to be closed' });
  });
});
