export type BlobLocation =
  | { readonly kind: 'file'; readonly folder: string }
  /** The prefix is empty or ends with a slash. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

/** The forms that `parseBlobLocation` accepts, in words. */
export const BLOB_LOCATIONS = 'file:/path, file:relative/folder or s3://bucket/prefix';

const S3_URL = /^s3:\/\/([^/]*)(?:\/(.*))?$/;
const BUCKET_NAME = /^(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Allows no character with a meaning in a URL, an XML answer or a shell. */
const PREFIX_PART = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
/** An S3 key may have 1,024 bytes. The blob's id takes 64. */
const PREFIX_LENGTH_MAX = 512;

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
export function isBucketName(text: string): boolean {
  return BUCKET_NAME.test(text);
}

/** @returns null for a text of another form. The folder is not resolved. */
export function parseBlobLocation(location: string): BlobLocation | null {
  return location.startsWith('file:') ? parseFolder(location.slice('file:'.length)) : parseBucket(location);
}

/** `file:///path` is `file:/path` (RFC 8089). `file://host/path` would name another machine. */
function parseFolder(path: string): BlobLocation | null {
  const folder = path.replace(/^\/\/\//, '/');
  if (folder.trim() === '' || folder.startsWith('//') || folder.includes('\0')) return null;
  return { kind: 'file', folder };
}

function parseBucket(location: string): BlobLocation | null {
  const [, bucket, path = ''] = S3_URL.exec(location) ?? [];
  if (bucket === undefined || !isBucketName(bucket) || path.length > PREFIX_LENGTH_MAX) return null;
  if (path === '') return { kind: 's3', bucket, prefix: '' };
  const prefix = path.replace(/\/$/, '');
  const isValid = prefix.split('/').every((part) => PREFIX_PART.test(part));
  return isValid ? { kind: 's3', bucket, prefix: `${prefix}/` } : null;
}
