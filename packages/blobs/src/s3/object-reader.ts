import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import type { Readable } from 'node:stream';
import { blobStream } from '../blob-stream.ts';
import type { BlobStoreUnavailableError, ByteRange, OpenBlob } from '../blob-store.ts';
import { pastEndError } from '../byte-range.ts';
import type { BoundedS3Client } from './client.ts';
import { nameOf } from './fault.ts';

interface ObjectName {
  readonly Bucket: string;
  readonly Key: string;
}

export interface ObjectReaderOptions {
  readonly call: BoundedS3Client['call'];
  readonly failure: (cause: unknown) => BlobStoreUnavailableError;
  /** Time limit for the next bytes of a stream. */
  readonly idleMs: number;
}

/** Opens objects as streams. */
export class ObjectReader {
  readonly #options: ObjectReaderOptions;
  readonly #streams = new Set<Readable>();

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
  }

  /**
   * @returns null when there is no such object
   * @throws RangeError when `range` starts past the last byte
   */
  async open(object: ObjectName, range?: ByteRange): Promise<OpenBlob | null> {
    const { call, failure, idleMs } = this.#options;
    const answer = await call((sdk, callOptions) => {
      const command = new GetObjectCommand({ ...object, ...rangeHeader(range) });
      return sdk.send(command, callOptions).catch((error: unknown) => unlessNoSuchKey(error, range));
    });
    if (answer === null) return null;
    const stream = blobStream(answer.Body as Readable, { idleMs, failure });
    const size = wholeSize(answer, range);
    if (size === null) {
      stream.destroy();
      throw failure(new Error('an answer that does not tell the size'));
    }
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    return { size, stream };
  }

  /** Ends every open stream with this failure. */
  abort(failure: BlobStoreUnavailableError): void {
    for (const stream of this.#streams) stream.destroy(failure);
  }
}

function rangeHeader(range: ByteRange | undefined): { Range?: string } {
  return range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
}

/** @returns null when the answer does not contain the size */
function wholeSize(answer: GetObjectCommandOutput, range: ByteRange | undefined): number | null {
  if (range === undefined) return answer.ContentLength ?? null;
  const [, size] = /^bytes \d+-\d+\/(\d+)$/.exec(answer.ContentRange ?? '') ?? [];
  return size === undefined ? null : Number(size);
}

function unlessNoSuchKey(error: unknown, range: ByteRange | undefined): null {
  const name = nameOf(error);
  if (name === 'NoSuchKey') return null;
  if (name === 'InvalidRange' && range !== undefined) throw pastEndError(range);
  throw error;
}
