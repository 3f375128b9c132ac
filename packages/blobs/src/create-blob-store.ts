import type { BlobStore } from './blob-store.ts';
import { createFileStore } from './file/file-store.ts';
import { parseLocation } from './location.ts';
import type { S3StoreOptions } from './s3/s3-store.ts';

export interface BlobStoreOptions {
  /** `s3`: the bucket's region. Default: where the SDK looks, as for everything else of AWS. */
  readonly region?: string | undefined;
  /** `s3`: time limit of a call with its retries, and of waiting for a stream's bytes. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 30_000;

/**
 * @param location `file:/path`, `file:relative/folder` (of the working directory) or `s3://bucket/prefix`
 * @throws Error of one line when `location` is none of these. Makes no folder and connects to nothing yet.
 */
export function createBlobStore(location: string, options: BlobStoreOptions = {}): BlobStore {
  const parsed = parseLocation(location);
  switch (parsed.kind) {
    case 'file':
      return createFileStore(parsed.folder);
    case 's3': {
      const { region, timeoutMs = TIMEOUT_MS } = options;
      return loadedWhenNeeded({ bucket: parsed.bucket, prefix: parsed.prefix, region, timeoutMs });
    }
  }
}

/** Only a process that uses S3 pays for the AWS SDK: it is imported here, at once, and by nobody else. */
function loadedWhenNeeded(options: S3StoreOptions): BlobStore {
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
