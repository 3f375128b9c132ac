import { resolve } from 'node:path';

export type BlobLocation =
  | { readonly kind: 'file'; readonly folder: string }
  /** The prefix is empty or ends with a slash. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const EXPECTED = 'file:/path, file:relative/folder or s3://bucket/prefix';
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;
/** Allows no character with a meaning in a URL, an XML answer or a shell. */
const PREFIX_PART = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
/** A key may have 1024 bytes. The id needs 64. */
const PREFIX_LENGTH_MAX = 512;

/**
 * @throws Error with a one-line message that names the accepted forms. It quotes `location`, which holds no
 * secret.
 */
export function parseLocation(location: string): BlobLocation {
  const parsed = location.startsWith('file:')
    ? parseFolder(location.slice('file:'.length))
    : parseBucket(location);
  if (parsed === null) throw new Error(`expected ${EXPECTED}, got ${JSON.stringify(location)}`);
  return parsed;
}

/** `file://host/path` would name another machine, so two slashes are refused. */
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
