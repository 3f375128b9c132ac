import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { isBlobId } from '../blob-id.ts';
import type { ListedBlob } from '../blob-store.ts';
import type { BoundedS3Client } from './client.ts';

/** Lists every blob under the prefix, in pages of at most 1000. It skips other objects. */
export async function* listObjects(
  call: BoundedS3Client['call'],
  bucket: string,
  prefix: string,
): AsyncGenerator<ListedBlob> {
  let token: string | undefined;
  do {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token });
    const page: ListObjectsV2CommandOutput = await call((sdk, its) => sdk.send(command, its));
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const id = Key.slice(prefix.length);
      if (isBlobId(id) && LastModified !== undefined) yield { id, putAt: LastModified };
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
}
