import {
  DeleteObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import type { ListObjectsV2CommandOutput, S3Client } from '@aws-sdk/client-s3';
import { blobIdOf, isBlobId } from '../blob-id.ts';
import type { BlobId } from '../blob-id.ts';
import type { BlobStore, ListedBlob } from '../blob-store.ts';
import { checkRange } from '../byte-range.ts';
import { BoundedS3Client } from './client.ts';
import type { CommandOptions } from './client.ts';
import { nameOf, unavailable } from './fault.ts';
import { ObjectReader } from './object-reader.ts';

export interface S3StoreOptions {
  readonly bucket: string;
  /** Stands before the id in a key. Empty, or ends with a slash. */
  readonly prefix: string;
  /** Time limit of a call with its retries, and for the next bytes of a stream. */
  readonly timeoutMs: number;
}

/**
 * Stores blobs as objects, `<prefix><id>`. The `LastModified` of an object is its put time.
 *
 * The credentials need s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket. Without s3:ListBucket,
 * S3 answers 403 for a missing object.
 */
export function createS3Store(options: S3StoreOptions): BlobStore {
  const { bucket, prefix, timeoutMs } = options;
  const client = new BoundedS3Client(timeoutMs);
  const failure = (cause: unknown) => unavailable(`s3://${bucket}/${prefix}`, cause);
  const call = async <Answer>(
    work: (sdk: S3Client, callOptions: CommandOptions) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await client.call(work);
    } catch (error) {
      throw error instanceof RangeError ? error : failure(error);
    }
  };
  const object = (id: BlobId) => ({ Bucket: bucket, Key: `${prefix}${id}` });
  const reader = new ObjectReader({ call, failure, idleMs: timeoutMs });

  return {
    async put(bytes) {
      const id = blobIdOf(bytes);
      const command = new PutObjectCommand({
        ...object(id),
        Body: bytes,
        ContentLength: bytes.length,
        ChecksumSHA256: Buffer.from(id, 'hex').toString('base64'), // S3 refuses bytes with another checksum
      });
      const { ETag } = await call((sdk, callOptions) => sdk.send(command, callOptions));
      // Every S3 returns an ETag for a stored object. A proxy's own page with status 200 has no ETag.
      if (ETag === undefined) throw failure(new Error('an answer that is not of S3'));
      return id;
    },
    async open(id, range) {
      if (range !== undefined) checkRange(range);
      return isBlobId(id) ? reader.open(object(id), range) : null;
    },
    async sizeOf(id) {
      if (!isBlobId(id)) return null;
      const head = new HeadObjectCommand(object(id));
      const found = await call((sdk, callOptions) => sdk.send(head, callOptions).catch(unlessNotFound));
      if (found?.ContentLength !== undefined) return found.ContentLength;
      // The answer to a HEAD has no body, so a missing object looks like a missing bucket. A GET shows the
      // difference.
      const opened = await reader.open(object(id));
      opened?.stream.destroy();
      return opened?.size ?? null;
    },
    async read(id) {
      const opened = isBlobId(id) ? await reader.open(object(id)) : null;
      return opened === null ? null : Buffer.concat((await opened.stream.toArray()) as Buffer[]);
    },
    async remove(id) {
      if (!isBlobId(id)) return;
      const command = new DeleteObjectCommand(object(id));
      await call((sdk, callOptions) => sdk.send(command, callOptions));
    },
    list: () => listObjects(call, bucket, prefix),
    close() {
      reader.abort(failure(new Error('the store was closed')));
      client.close();
    },
  };
}

function unlessNotFound(error: unknown): null {
  if (nameOf(error) === 'NotFound') return null;
  throw error;
}

/** Lists every blob under the prefix, in pages of at most 1000. It skips other objects. */
async function* listObjects(
  call: BoundedS3Client['call'],
  bucket: string,
  prefix: string,
): AsyncGenerator<ListedBlob> {
  let token: string | undefined;
  do {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token });
    const page: ListObjectsV2CommandOutput = await call((sdk, callOptions) => sdk.send(command, callOptions));
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const id = Key.slice(prefix.length);
      if (isBlobId(id) && LastModified !== undefined) yield { id, putAt: LastModified };
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
}
