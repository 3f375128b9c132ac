import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  cleanUpAfterEach,
  s3Error,
  s3Part,
  serviceDrop,
  serviceHang,
  servicePage,
  setEnvironment,
  startFakeS3,
  waitFor,
} from '@postrider/testing';
import type { FakeS3, ServiceReaction } from '@postrider/testing';
import { createObjectSource } from '../index.ts';
import type { ObjectSource } from '../index.ts';

const BYTES_MAX = 1_000;
/** Far longer than any exchange here. */
const LONG_MS = 20_000;
/** Time limit for calls that never get an answer or never end. */
const SHORT_MS = 300;
const OBJECT = { bucket: 'mail-in', key: 'a/b c/ü?' };

const atEnd = cleanUpAfterEach();
let s3: FakeS3;
beforeEach(async () => {
  s3 = await startFakeS3();
  atEnd(() => s3.close());
  atEnd(setEnvironment(s3.environment));
});

function connect(timeoutMs = LONG_MS): ObjectSource {
  const source = createObjectSource({ bytesMax: BYTES_MAX, timeoutMs });
  atEnd(() => source.close());
  return source;
}

function put(bytes: Buffer): Buffer {
  s3.objects.set(`${OBJECT.bucket}/${OBJECT.key}`, { bytes, lastModified: new Date() });
  return bytes;
}

const away = (message: string) => ({
  name: 'BlobStoreUnavailableError',
  message: expect.stringContaining(message) as unknown,
});

test('an object is read whole, from the bucket that is named', async () => {
  const bytes = put(randomBytes(BYTES_MAX));
  expect(await connect().read(OBJECT)).toEqual({ kind: 'read', bytes });
  expect(s3.requests).toMatchObject([{ operation: 'GetObject', ...OBJECT }]);
});

test('one byte over the limit is not read, and holds no connection', async () => {
  put(randomBytes(BYTES_MAX + 1));
  expect(await connect().read(OBJECT)).toEqual({ kind: 'too_big' });
  await waitFor(() => s3.openSockets === 0, { what: 'the connection to end' });
});

test('a missing object is gone', async () => {
  expect(await connect().read(OBJECT)).toEqual({ kind: 'gone' });
});

describe('S3 is away, and nothing is gone, with', () => {
  test.each<[string, ServiceReaction, string]>([
    [
      'an answer 503',
      s3Error(503, 'SlowDown'),
      'the bucket s3://mail-in is not available (SlowDown, status 503)',
    ],
    ['a refusal', s3Error(403, 'AccessDenied'), '(AccessDenied, status 403)'],
    ['a bucket that is not there', s3Error(404, 'NoSuchBucket'), '(NoSuchBucket, status 404)'],
    ['a proxy’s page', servicePage(502), 'status 502'],
    ['a connection that ends', serviceDrop, 's3://mail-in'],
    ['bytes that end early', s3Part(100, 'cut'), 's3://mail-in'],
  ])('%s', async (_, reaction, message) => {
    put(randomBytes(1));
    s3.fail(reaction, { operation: 'GetObject' });
    await expect(connect().read(OBJECT)).rejects.toMatchObject(away(message));
  });

  test('no answer in time', async () => {
    s3.fail(serviceHang, { operation: 'GetObject' });
    await expect(connect(SHORT_MS).read(OBJECT)).rejects.toMatchObject(away('s3://mail-in'));
  });
});

test('an object whose bytes trickle is read up to the time limit', async () => {
  s3.fail((response) => {
    response.writeHead(200, { 'content-length': BYTES_MAX, etag: '"slow"' });
    const timer = setInterval(() => response.write('x'), 10);
    response.once('close', () => clearInterval(timer));
  });
  await expect(connect(SHORT_MS).read(OBJECT)).rejects.toMatchObject(away('s3://mail-in'));
  await waitFor(() => s3.openSockets === 0, { what: 'the connection to end' });
});

test('closing aborts running reads', async () => {
  s3.fail(s3Part(100, 'stall'), { operation: 'GetObject' });
  const source = connect();
  const reading = source.read(OBJECT);
  await s3.waitForRequests('GetObject', 1);
  source.close();
  await expect(reading).rejects.toMatchObject(away('the store was closed'));
  await waitFor(() => s3.openSockets === 0, { what: 'the connection to end' });
});

test.each<[string, (source: ObjectSource) => Promise<unknown>]>([
  ['before anything was read', async () => undefined],
  ['after a reading', (source) => source.read(OBJECT)],
])('a source that was closed %s fails at once and asks S3 nothing', async (_when, before) => {
  put(randomBytes(1));
  const source = connect();
  await before(source);
  const asked = s3.requests.length;
  source.close();
  await expect(source.read(OBJECT)).rejects.toMatchObject(
    away('the bucket s3://mail-in is not available (the store was closed)'),
  );
  expect(s3.requests).toHaveLength(asked);
});
