import type { Readable } from 'node:stream';
import type { BlobId } from './blob-id.ts';

/** Byte positions, counted from 0. Both ends are included. */
export interface ByteRange {
  readonly start: number;
  /** An end past the last byte means the last byte. */
  readonly end: number;
}

export interface OpenBlob {
  /** Size of the whole blob in bytes, even for a range. */
  readonly size: number;
  /** Read it to its end or destroy it. Until then it holds a file or a connection. */
  readonly stream: Readable;
}

export interface ListedBlob {
  readonly id: BlobId;
  /** Time of the last put. */
  readonly putAt: Date;
}

/**
 * Stores bytes under their SHA-256. A text that is no valid id reads as a missing blob.
 *
 * When the store is away, full or refuses us, every method and every stream fails with
 * BlobStoreUnavailableError.
 */
export interface BlobStore {
  /**
   * Resolves when the bytes are durable under their id. Existing bytes get the current time as their put
   * time.
   */
  put(bytes: Buffer): Promise<BlobId>;
  /**
   * @returns null when there is no such blob
   * @throws RangeError when `range` is invalid, or starts past the last byte
   */
  open(id: BlobId, range?: ByteRange): Promise<OpenBlob | null>;
  /** @returns the size in bytes; null when there is no such blob. */
  sizeOf(id: BlobId): Promise<number | null>;
  /** @returns the whole blob; null when there is no such blob. */
  read(id: BlobId): Promise<Buffer | null>;
  /** Does nothing when there is no such blob. */
  remove(id: BlobId): Promise<void>;
  /** Lists every blob, in no order. It reads the store page by page. */
  list(): AsyncIterable<ListedBlob>;
  /** Aborts running calls and closes connections. In S3, later calls fail at once. */
  close(): void;
}

/**
 * The store is away, full, or refuses us. The message names the store and the fault. `cause` is the fault
 * itself.
 */
export class BlobStoreUnavailableError extends Error {
  override readonly name = 'BlobStoreUnavailableError';
}
