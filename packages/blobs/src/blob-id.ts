import { createHash } from 'node:crypto';

/** SHA-256 of the bytes, in lower-case hex. */
export type BlobId = string & { readonly idOf: 'blob' };

const BLOB_ID = /^[0-9a-f]{64}$/;

export function blobIdOf(bytes: Uint8Array): BlobId {
  return createHash('sha256').update(bytes).digest('hex') as BlobId;
}

/** Check every id with this before it becomes part of a path or an S3 key. */
export function isBlobId(text: string): text is BlobId {
  return BLOB_ID.test(text);
}
