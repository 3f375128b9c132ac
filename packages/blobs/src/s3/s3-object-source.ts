import type { Readable } from 'node:stream';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { ObjectSource } from '../object-source.ts';
import { BoundedS3Client } from './client.ts';
import { nameOf, unavailable } from './fault.ts';

export function createS3ObjectSource(options: {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}): ObjectSource {
  const { bytesMax, timeoutMs } = options;
  const client = new BoundedS3Client(timeoutMs);
  return {
    async read({ bucket, key }) {
      try {
        return await client.call(async (sdk, callOptions) => {
          const answer = await sdk.send(new GetObjectCommand({ Bucket: bucket, Key: key }), callOptions);
          const stream = answer.Body as Readable;
          // S3 sends the size before the bytes, so an object that is too big is not read.
          const { ContentLength: size = null } = answer;
          if (size === null || size > bytesMax) stream.destroy();
          if (size === null) throw new Error('an answer that does not tell the size');
          if (size > bytesMax) return { kind: 'too_big' };
          const parts = await stream.toArray();
          return { kind: 'read', bytes: Buffer.concat(parts as Buffer[]) };
        });
      } catch (error) {
        if (nameOf(error) === 'NoSuchKey') return { kind: 'gone' };
        throw unavailable(`s3://${bucket}`, error, 'bucket');
      }
    },
    close: () => client.close(),
  };
}
