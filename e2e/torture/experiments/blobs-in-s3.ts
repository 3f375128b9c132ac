import { startFakeS3, startFaultProxy } from '@postrider/testing';
import type { FakeS3, FaultProxy } from '@postrider/testing';

export interface BlobsInS3 {
  readonly objects: FakeS3['objects'];
  /** Between the processes and S3. */
  readonly line: FaultProxy;
  /** The environment of every process that reads or writes the bytes of mail. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startBlobsInS3(): Promise<BlobsInS3> {
  const s3 = await startFakeS3();
  const endpoint = s3.environment['AWS_ENDPOINT_URL_S3'] ?? '';
  const line = await startFaultProxy(endpoint);
  return {
    objects: s3.objects,
    line,
    env: {
      ...s3.environment,
      BLOB_STORE: 's3://blobs/mail',
      AWS_ENDPOINT_URL_S3: line.url(endpoint),
    },
    async close() {
      await line.close();
      await s3.close();
    },
  };
}
