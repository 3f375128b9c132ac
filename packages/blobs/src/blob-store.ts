import type { Readable } from 'node:stream';
import type { BlobId } from './blob-id.ts';

/** Positions of bytes, from 0, both ends included. */
export interface ByteRange {
  readonly start: number;
  /** An end past the last byte means the last byte. */
  readonly end: number;
}

export interface OpenBlob {
  /** Of the whole blob in bytes, also when a range was asked for. */
  readonly size: number;
  /** Read it to its end or destroy it: until then it holds a file or a connection. */
  readonly stream: Readable;
}

export interface ListedBlob {
  readonly id: BlobId;
  /** When it was last put. */
  readonly putAt: Date;
}

/**
 * Keeps bytes under their SHA-256. Text that is no id reads as an id that is not there.
 *
 * A store that is away, full, or refuses us makes every method, and every stream, fail with
 * BlobStoreUnavailableError.
 */
export interface BlobStore {
  /** Resolves when the bytes are durable under their id. Bytes that are there already count as put now. */
  put(bytes: Buffer): Promise<BlobId>;
  /**
   * @returns null when there is no such blob.
   * @throws RangeError when `range` is none, or when it starts past the last byte.
   */
  open(id: BlobId, range?: ByteRange): Promise<OpenBlob | null>;
  /** @returns the size in bytes; null when there is no such blob. */
  sizeOf(id: BlobId): Promise<number | null>;
  /** @returns the whole blob; null when there is no such blob. */
  read(id: BlobId): Promise<Buffer | null>;
  /** Does nothing when there is no such blob. */
  remove(id: BlobId): Promise<void>;
  /** Every blob, in no order, read from the store in steps. */
  list(): AsyncIterable<ListedBlob>;
  /** Breaks off what runs, and ends its connections. In S3 a call that begins afterwards fails at once. */
  close(): void;
}

/** The store is away, full, or refuses us. The message names store and fault, `cause` is the fault itself. */
export class BlobStoreUnavailableError extends Error {
  override readonly name = 'BlobStoreUnavailableError';
}
