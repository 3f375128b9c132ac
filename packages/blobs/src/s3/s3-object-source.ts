import type { ObjectSource } from '../object-source.ts';
import { BoundedS3Client } from './client.ts';
import { unavailable } from './fault.ts';
import { ObjectReader } from './object-reader.ts';

export function createS3ObjectSource(options: {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}): ObjectSource {
  const { bytesMax, timeoutMs } = options;
  const client = new BoundedS3Client(timeoutMs);
  /** One function per running read. It aborts the read. */
  const reading = new Set<(cause: Error) => void>();

  return {
    async read({ bucket, key }) {
      const failure = (cause: unknown) => unavailable(`s3://${bucket}`, cause, 'bucket');
      const reader = new ObjectReader({
        call: (work) =>
          client.call(work).catch((error: unknown) => {
            throw failure(error);
          }),
        failure,
        idleMs: timeoutMs,
      });
      const opened = await reader.open({ Bucket: bucket, Key: key });
      if (opened === null) return { kind: 'gone' };
      if (opened.size > bytesMax) {
        opened.stream.destroy();
        return { kind: 'too_big' };
      }
      const abort = (cause: Error) => reader.abort(failure(cause));
      const timer = setTimeout(() => abort(new Error(`not read in ${timeoutMs} ms`)), timeoutMs);
      reading.add(abort);
      try {
        return { kind: 'read', bytes: Buffer.concat((await opened.stream.toArray()) as Buffer[]) };
      } finally {
        clearTimeout(timer);
        reading.delete(abort);
      }
    },
    close() {
      for (const abort of reading) abort(new Error('the store was closed'));
      client.close();
    },
  };
}
