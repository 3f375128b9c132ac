import { posix } from 'node:path';
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  cleanUpAfterEach,
  CLOSED_PORT,
  s3Error,
  s3Part,
  serviceDrop,
  serviceHang,
  servicePage,
  setEnvironment,
  startFakeS3,
  waitFor,
} from '@postrider/testing';
import type { FakeS3 } from '@postrider/testing';
import { blobStoreConformance } from '../../test/conformance.ts';
import { blobIdOf, createBlobStore } from '../index.ts';
import type { BlobStore } from '../index.ts';

/** Far longer than any exchange here. */
const LONG_MS = 20_000;
/** Time limit for calls that never get an answer. */
const SHORT_MS = 300;
/** Time limit for a stalled stream. Three tries to open it must fit in, even on a slow machine. */
const STALL_MS = 3000;
const LOCATION = 's3://blobs/mail/raw';
const BLOB = Buffer.from('a blob');
const BLOB_KEY = `blobs/mail/raw/${blobIdOf(BLOB)}`;

const atEnd = cleanUpAfterEach();

async function startS3(): Promise<FakeS3> {
  const s3 = await startFakeS3();
  atEnd(() => s3.close());
  atEnd(setEnvironment(s3.environment));
  return s3;
}

function connect(timeoutMs = LONG_MS, location = LOCATION): BlobStore {
  const store = createBlobStore(location, timeoutMs);
  atEnd(() => store.close());
  return store;
}

async function failing(reaction: Parameters<FakeS3['fail']>[0], timeoutMs = LONG_MS): Promise<BlobStore> {
  (await startS3()).fail(reaction);
  return connect(timeoutMs);
}

async function refused(): Promise<BlobStore> {
  await startS3();
  atEnd(setEnvironment({ AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${CLOSED_PORT}` }));
  return connect();
}

describe('a blob store in S3', () => {
  blobStoreConformance({
    async open() {
      const s3 = await startS3();
      const at = (name: string) => posix.normalize(`blobs/mail/raw/${name}`);
      return {
        connect: () => connect(),
        async age(id, putAt) {
          const object = s3.objects.get(at(id));
          if (object === undefined) throw new Error(`no object ${id}`);
          s3.objects.set(at(id), { ...object, lastModified: putAt });
        },
        litter: async (name, bytes) => void s3.objects.set(at(name), { bytes, lastModified: new Date() }),
        litterAt: async (name) => s3.objects.get(at(name))?.bytes ?? null,
        close: () => Promise.resolve(),
      };
    },
    away: [
      ['a connection refused', refused],
      ['an answer 500', () => failing(s3Error(500, 'InternalError'))],
      ['an answer 503 to slow down', () => failing(s3Error(503, 'SlowDown'))],
      ['a connection that ends without an answer', () => failing(serviceDrop)],
      ['a server that never answers', () => failing(serviceHang, SHORT_MS)],
      ['credentials that are refused', () => failing(s3Error(403, 'AccessDenied'))],
      ['a bucket that does not exist', () => failing(s3Error(404, 'NoSuchBucket'))],
      ["a proxy's page", () => failing(servicePage(502))],
    ],
  });
});

describe('a bucket of blobs', () => {
  let s3: FakeS3;
  beforeEach(async () => void (s3 = await startS3()));

  test('has each under its prefix and its id', async () => {
    await connect().put(BLOB);
    await connect(LONG_MS, 's3://whole.bucket').put(BLOB);
    expect([...s3.objects.keys()]).toEqual([BLOB_KEY, `whole.bucket/${blobIdOf(BLOB)}`]);
    expect(s3.objects.get(BLOB_KEY)?.bytes).toEqual(BLOB);
  });

  test('gets one blob after another over one connection', async () => {
    const store = connect();
    await store.put(BLOB);
    await store.put(randomBytes(3 * 1024 * 1024));
    expect(s3.requests.map(({ headers }) => headers.expect)).toEqual([undefined, undefined]);
    expect(s3.openSockets).toBe(1);
  });

  test('refuses bytes that changed on their way', async () => {
    await connect().put(BLOB);
    expect(s3.requests[0]?.headers['x-amz-checksum-sha256']).toBe(
      Buffer.from(blobIdOf(BLOB), 'hex').toString('base64'),
    );
  });

  test('is addressed by path where the server is not AWS, also under a name', async () => {
    const byName = (s3.environment['AWS_ENDPOINT_URL_S3'] ?? '').replace('127.0.0.1', 'localhost');
    atEnd(setEnvironment({ AWS_ENDPOINT_URL_S3: byName }));
    await connect().put(BLOB);
    expect(s3.requests[0]?.headers.host).toMatch(/^localhost:/);
    expect([...s3.objects.keys()]).toEqual([BLOB_KEY]);
  });

  test.each([
    ['an answer 500', s3Error(500, 'InternalError')],
    ['an answer 503', s3Error(503, 'SlowDown')],
    ['a connection that ends', serviceDrop],
  ])('is tried three times, so that %s twice is no failure', async (_how, reaction) => {
    s3.fail(reaction, { operation: 'PutObject', times: 2 });
    await connect().put(BLOB);
    expect(s3.requests).toHaveLength(3);
  });

  test('is tried again in a new request when one is not answered, within the time of the call', async () => {
    s3.fail(serviceHang, { operation: 'PutObject', times: 1 });
    await connect(STALL_MS).put(BLOB);
    expect(s3.requests).toHaveLength(2);
  });

  test('is tried three times and not more', async () => {
    s3.fail(s3Error(500, 'InternalError'));
    await expect(connect().put(BLOB)).rejects.toMatchObject({
      message: 'the blob store s3://blobs/mail/raw/ is not available (InternalError, status 500)',
    });
    expect(s3.requests).toHaveLength(3);
  });

  test('that refuses us gets one request, and its words stay in the cause', async () => {
    s3.fail(s3Error(403, 'AccessDenied', 'arn:aws:iam::1:user/secret may not'));
    await expect(connect().put(BLOB)).rejects.toMatchObject({
      message: 'the blob store s3://blobs/mail/raw/ is not available (AccessDenied, status 403)',
      cause: { message: 'arn:aws:iam::1:user/secret may not' },
    });
    expect(s3.requests).toHaveLength(1);
  });

  test('has stored nothing when a page with status 200 answers', async () => {
    s3.fail(servicePage(200), { operation: 'PutObject' });
    await expect(connect().put(BLOB)).rejects.toMatchObject({ name: 'BlobStoreUnavailableError' });
  });

  test('that is missing is not taken for a missing blob, also by HEAD', async () => {
    s3.fail(s3Error(404, 'NoSuchBucket'));
    await expect(connect().sizeOf(blobIdOf(BLOB))).rejects.toMatchObject({ cause: { name: 'NoSuchBucket' } });
  });

  test('is listed in pages, each when it is needed', async () => {
    const ids = Array.from({ length: 2500 }, (_, n) => blobIdOf(Buffer.from(`${n}`)));
    const lastModified = new Date();
    for (const id of ids) s3.objects.set(`blobs/mail/raw/${id}`, { bytes: BLOB, lastModified });
    s3.objects.set(`blobs/mail/rawer/${blobIdOf(BLOB)}`, { bytes: BLOB, lastModified });
    const seen = new Map<string, number>();
    for await (const { id } of connect().list()) seen.set(id, s3.requests.length);
    expect([...seen.keys()].sort()).toEqual(ids.sort());
    expect([...seen.values()].filter((requests) => requests === 1)).toHaveLength(1000);
    expect(s3.requests).toHaveLength(3);
  });

  test('is asked for the range alone', async () => {
    const store = connect();
    const id = await store.put(randomBytes(1000));
    const opened = await store.open(id, { start: 10, end: 19 });
    expect(Buffer.concat((await opened?.stream.toArray()) as Buffer[])).toHaveLength(10);
    expect(s3.requests.at(-1)?.headers.range).toBe('bytes=10-19');
  });

  test('that answers without the range is not believed', async () => {
    s3.fail(s3Part(100, 'stall'), { operation: 'GetObject' });
    await expect(connect().open(blobIdOf(BLOB), { start: 0, end: 1 })).rejects.toMatchObject({
      message: expect.stringContaining('an answer that does not tell the size'),
    });
    await waitFor(() => s3.openSockets === 0, { what: 'the connection to end' });
  });
});

describe('a stream from a bucket', () => {
  let s3: FakeS3;
  beforeEach(async () => void (s3 = await startS3()));

  test.each([
    ['that is cut', 'cut', LONG_MS],
    ['that stalls', 'stall', STALL_MS],
  ] as const)(
    '%s fails as the store that is away, and ends its connection',
    async (_how, then, timeoutMs) => {
      s3.fail(s3Part(1000, then), { operation: 'GetObject' });
      const store = connect(timeoutMs);
      const opened = await store.open(blobIdOf(BLOB));
      expect(opened?.size).toBe(1000);
      await expect(opened?.stream.toArray()).rejects.toMatchObject({ name: 'BlobStoreUnavailableError' });
      await waitFor(() => s3.openSockets === 0, { what: 'the connection to end' });
      await expect(store.read(blobIdOf(BLOB))).rejects.toMatchObject({ name: 'BlobStoreUnavailableError' });
    },
  );

  test('with a reader that pauses beyond the time limit does not fail', async () => {
    const store = connect(STALL_MS);
    const bytes = randomBytes(10 * 1024 * 1024);
    s3.objects.set(`blobs/mail/raw/${blobIdOf(bytes)}`, { bytes, lastModified: new Date() });
    const opened = await store.open(blobIdOf(bytes));
    if (opened === null) throw new Error('no such blob');
    const reader = (opened.stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    const chunks = [(await reader.next()).value as Buffer];
    // Waits until the time limit of another stream, which started later, is over.
    s3.fail(s3Part(1000, 'stall'), { operation: 'GetObject', times: 1 });
    const other = await store.open(blobIdOf(BLOB));
    await expect(other?.stream.toArray()).rejects.toThrow('no bytes for');
    for (let next = await reader.next(); next.done !== true; next = await reader.next())
      chunks.push(next.value);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });

  test('that is dropped unread closes its connection', async () => {
    const bytes = randomBytes(10 * 1024 * 1024);
    s3.objects.set(`blobs/mail/raw/${blobIdOf(bytes)}`, { bytes, lastModified: new Date() });
    const opened = await connect().open(blobIdOf(bytes));
    opened?.stream.destroy();
    await waitFor(() => s3.openSockets === 0, { what: 'the connection to end' });
  });

  test('is aborted when the store is closed, like calls and their connections', async () => {
    s3.fail(s3Part(1000, 'stall'), { operation: 'GetObject' });
    s3.fail(serviceHang, { operation: 'PutObject' });
    const store = connect();
    const opened = await store.open(blobIdOf(BLOB));
    const reading = opened?.stream.toArray();
    const putting = store.put(BLOB);
    await s3.waitForRequests('PutObject', 1);
    store.close();
    for (const broken of [reading, putting]) {
      await expect(broken).rejects.toMatchObject({
        message: expect.stringContaining('the store was closed'),
      });
    }
    await waitFor(() => s3.openSockets === 0, { what: 'the connections to end' });
  });
});

test.each<[string, (store: BlobStore) => Promise<unknown>]>([
  ['before it has loaded the SDK', async () => undefined],
  ['after a call', (store) => store.sizeOf(blobIdOf(BLOB))],
])('a store that was closed %s fails at once and asks S3 nothing', async (_when, before) => {
  const s3 = await startS3();
  const store = connect();
  await before(store);
  const asked = s3.requests.length;
  store.close();
  const calls = [
    () => store.put(BLOB),
    () => store.open(blobIdOf(BLOB)),
    () => store.sizeOf(blobIdOf(BLOB)),
    () => store.remove(blobIdOf(BLOB)),
    () => store.list()[Symbol.asyncIterator]().next(),
  ];
  for (const call of calls) {
    await expect(call()).rejects.toMatchObject({
      name: 'BlobStoreUnavailableError',
      message: expect.stringContaining('the store was closed'),
    });
  }
  expect(s3.requests).toHaveLength(asked);
});
