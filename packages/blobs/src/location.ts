import { resolve } from 'node:path';

export type BlobLocation =
  | { readonly kind: 'file'; readonly folder: string }
  /** `prefix` is empty or ends with a slash. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const EXPECTED = 'file:/path, file:relative/folder or s3://bucket/prefix';
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;
/** Nothing that a URL, an XML answer or a shell would read in its own way. */
const PREFIX_PART = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
/** Of a key 1024 bytes are allowed; 64 are the id. */
const PREFIX_LENGTH_MAX = 512;

/** @throws Error of one line that says what is expected; `location` holds no secret and is quoted in it. */
export function parseLocation(location: string): BlobLocation {
  const parsed = location.startsWith('file:')
    ? parseFolder(location.slice('file:'.length))
    : parseBucket(location);
  if (parsed === null) throw new Error(`expected ${EXPECTED}, got ${JSON.stringify(location)}`);
  return parsed;
}

/** `file://host/path` names another machine, so that two slashes are refused. */
function parseFolder(path: string): BlobLocation | null {
  if (path.trim() === '' || path.startsWith('//') || path.includes('\0')) return null;
  return { kind: 'file', folder: resolve(path) };
}

function parseBucket(location: string): BlobLocation | null {
  const [, bucket, path = ''] = S3_URL.exec(location) ?? [];
  if (bucket === undefined || bucket.includes('..') || path.length > PREFIX_LENGTH_MAX) return null;
  const prefix = path.replace(/\/$/, '');
  if (prefix === '') return path === '' ? { kind: 's3', bucket, prefix: '' } : null;
  return prefix.split('/').every((part) => PREFIX_PART.test(part))
    ? { kind: 's3', bucket, prefix: `${prefix}/` }
    : null;
}
