import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ServiceReaction } from '../fake-service.ts';
import { s3Error } from './reactions.ts';

export type S3Operation = 'PutObject' | 'GetObject' | 'HeadObject' | 'DeleteObject' | 'ListObjectsV2';

export interface FakeS3Object {
  readonly bytes: Buffer;
  readonly lastModified: Date;
}

/** One request that the fake got. */
export interface S3Request {
  readonly operation: S3Operation;
  readonly bucket: string;
  /** Empty for ListObjectsV2. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
}

const OBJECT_OPERATIONS: Readonly<Partial<Record<string, S3Operation>>> = {
  PUT: 'PutObject',
  GET: 'GetObject',
  HEAD: 'HeadObject',
  DELETE: 'DeleteObject',
};
const PAGE_SIZE_MAX = 1000;

/** Takes the bucket from the path. @returns null for a request that is none of this fake's operations. */
export function readRequest(method: string, url: string, headers: IncomingHttpHeaders): S3Request | null {
  const { pathname, searchParams } = new URL(url, 'http://s3.test');
  const [, bucket = '', ...rest] = pathname.split('/').map(decodeURIComponent);
  const key = rest.join('/');
  const query = Object.fromEntries(searchParams);
  const operation = key === '' ? bucketOperation(method, query) : OBJECT_OPERATIONS[method];
  return operation === undefined ? null : { operation, bucket, key, query, headers };
}

function bucketOperation(method: string, query: Readonly<Record<string, string>>): S3Operation | undefined {
  return method === 'GET' && query['list-type'] === '2' ? 'ListObjectsV2' : undefined;
}

/** The reaction of S3 itself, when the test asks for no failure. Every bucket exists. */
export function perform(
  request: S3Request,
  body: Buffer,
  objects: Map<string, FakeS3Object>,
): ServiceReaction {
  const { operation, bucket, key } = request;
  const path = `${bucket}/${key}`;
  const object = objects.get(path);
  switch (operation) {
    case 'PutObject':
      return put(request, body, objects);
    case 'DeleteObject':
      objects.delete(path);
      return (response) => response.writeHead(204).end();
    case 'GetObject':
    case 'HeadObject':
      // A HEAD has no body: Node leaves it out.
      return object === undefined ? s3Error(404, 'NoSuchKey') : get(object, request.headers.range);
    case 'ListObjectsV2':
      return list(request, objects);
  }
}

function put(
  { bucket, key, headers }: S3Request,
  body: Buffer,
  objects: Map<string, FakeS3Object>,
): ServiceReaction {
  if (headers['content-encoding']?.includes('aws-chunked') === true) return s3Error(501, 'NotImplemented');
  const expectedDigest = headers['x-amz-checksum-sha256'];
  const digest = createHash('sha256').update(body).digest('base64');
  if (expectedDigest !== undefined && expectedDigest !== digest) return s3Error(400, 'BadDigest');
  objects.set(`${bucket}/${key}`, { bytes: body, lastModified: new Date() });
  return (response) => response.writeHead(200, { etag: etagOf(body) }).end();
}

function get({ bytes, lastModified }: FakeS3Object, rangeHeader: string | undefined): ServiceReaction {
  const whole = { start: 0, end: bytes.length - 1 };
  const range = rangeHeader === undefined ? whole : rangeIn(rangeHeader, bytes.length);
  if (range === null) return s3Error(416, 'InvalidRange');
  const { start, end } = range;
  return (response) => {
    response.writeHead(rangeHeader === undefined ? 200 : 206, {
      'content-type': 'application/octet-stream',
      'content-length': end - start + 1,
      'last-modified': lastModified.toUTCString(),
      etag: etagOf(bytes),
      ...(rangeHeader === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${bytes.length}` }),
    });
    response.end(bytes.subarray(start, end + 1));
  };
}

/** RFC 9110 14.1.2, one range. @returns null when no byte is in it. */
function rangeIn(header: string, size: number): { start: number; end: number } | null {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start <= end ? { start, end } : null;
}

/** Lists in the order of keys, like S3. The token of a page is the last key of the page before. */
function list({ bucket, query }: S3Request, objects: ReadonlyMap<string, FakeS3Object>): ServiceReaction {
  const { prefix = '', 'continuation-token': token } = query;
  const pageSize = Math.min(Number(query['max-keys'] ?? PAGE_SIZE_MAX), PAGE_SIZE_MAX);
  const after = token === undefined ? '' : Buffer.from(token, 'base64url').toString();
  const matching = [...objects]
    .filter(([path]) => path.startsWith(`${bucket}/${prefix}`))
    .map(([path, object]) => ({ key: path.slice(bucket.length + 1), ...object }))
    .filter(({ key }) => key > after)
    .sort((one, two) => (one.key < two.key ? -1 : 1));
  const page = matching.slice(0, pageSize);
  const isTruncated = matching.length > page.length;
  const next = Buffer.from(page.at(-1)?.key ?? '').toString('base64url');
  const contents = page.map(
    ({ key, bytes, lastModified }) =>
      `<Contents><Key>${escaped(key)}</Key><LastModified>${lastModified.toISOString()}</LastModified>` +
      `<ETag>${escaped(etagOf(bytes))}</ETag><Size>${bytes.length}</Size></Contents>`,
  );
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
        `<Name>${escaped(bucket)}</Name><Prefix>${escaped(prefix)}</Prefix><KeyCount>${page.length}</KeyCount>` +
        `<IsTruncated>${isTruncated}</IsTruncated>${contents.join('')}` +
        `${isTruncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''}</ListBucketResult>`,
    );
  };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function escaped(text: string): string {
  return text.replaceAll(/[<>&"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);
}
