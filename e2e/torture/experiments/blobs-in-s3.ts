import { startFakeS3 } from '@postrider/testing';
import type { FakeS3 } from '@postrider/testing';
import { startFaultProxy } from '../harness/proxy/fault-proxy.ts';
import type { FaultProxy } from '../harness/proxy/fault-proxy.ts';

export interface BlobsInS3 {
  readonly objects: FakeS3['objects'];
  /** Between the processes and S3. */
  readonly line: FaultProxy;
  /** Of every process that reads or writes the bytes of mail. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startBlobsInS3(): Promise<BlobsInS3> {
  const s3 = await startFakeS3();
  const { hostname, port } = new URL(s3.environment['AWS_ENDPOINT_URL_S3'] ?? '');
  const line = await startFaultProxy(() => ({ host: hostname, port: Number(port) }));
  return {
    objects: s3.objects,
    line,
    env: {
      ...s3.environment,
      BLOB_STORE: 's3://blobs/mail',
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${line.port}`,
    },
    async close() {
      await line.close();
      await s3.close();
    },
  };
}
