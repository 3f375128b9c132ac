import type { ObjectSource } from './object-source.ts';
import { unavailable } from './s3/fault.ts';

export interface ObjectSourceOptions {
  /** A larger object is not read. */
  readonly bytesMax: number;
  /** Time limit for a read, with its retries. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 30_000;

/**
 * Makes a source of objects in S3. The AWS SDK finds credentials and region itself. The SDK is loaded when
 * the first object is read.
 *
 * The credentials need s3:GetObject and s3:ListBucket. Without s3:ListBucket, S3 answers 403 for a missing
 * object.
 */
export function createObjectSource({ bytesMax, timeoutMs = TIMEOUT_MS }: ObjectSourceOptions): ObjectSource {
  let loading: Promise<ObjectSource> | undefined;
  let isClosed = false;
  const load = async (): Promise<ObjectSource> => {
    const { createS3ObjectSource } = await import('./s3/s3-object-source.ts');
    return createS3ObjectSource({ bytesMax, timeoutMs });
  };
  return {
    async read(object) {
      if (isClosed) throw unavailable(`s3://${object.bucket}`, new Error('the store was closed'), 'bucket');
      loading ??= load();
      return (await loading).read(object);
    },
    close() {
      isClosed = true;
      void loading?.then((source) => source.close());
    },
  };
}
