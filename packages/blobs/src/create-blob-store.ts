import { resolve } from 'node:path';
import { BLOB_LOCATIONS, parseBlobLocation } from '@postrider/domain';
import type { BlobStore } from './blob-store.ts';
import { createFileStore } from './file/file-store.ts';
import type { S3StoreOptions } from './s3/s3-store.ts';

const S3_TIMEOUT_MS = 30_000;

/**
 * Makes no folder and opens no connection yet.
 *
 * @param location `file:/path`, `file:relative/folder` (in the working directory) or `s3://bucket/prefix`
 * @param s3TimeoutMs limits a call with its retries, and the wait for the next bytes of a stream
 * @throws Error with a one-line message when `location` is invalid. It quotes `location`: that is no secret.
 */
export function createBlobStore(location: string, s3TimeoutMs = S3_TIMEOUT_MS): BlobStore {
  const parsed = parseBlobLocation(location);
  if (parsed === null) throw new Error(`expected ${BLOB_LOCATIONS}, got ${JSON.stringify(location)}`);
  switch (parsed.kind) {
    case 'file':
      return createFileStore(resolve(parsed.folder));
    case 's3':
      return s3StoreOnceLoaded({ bucket: parsed.bucket, prefix: parsed.prefix, timeoutMs: s3TimeoutMs });
  }
}

/** Starts loading the AWS SDK at once. A process without S3 never loads it: only this function imports it. */
function s3StoreOnceLoaded(options: S3StoreOptions): BlobStore {
  const loading = import('./s3/s3-store.ts').then(({ createS3Store }) => createS3Store(options));
  return {
    put: async (bytes) => (await loading).put(bytes),
    open: async (id, range) => (await loading).open(id, range),
    sizeOf: async (id) => (await loading).sizeOf(id),
    read: async (id) => (await loading).read(id),
    remove: async (id) => (await loading).remove(id),
    async *list() {
      yield* (await loading).list();
    },
    close: () => void loading.then((store) => store.close()),
  };
}
