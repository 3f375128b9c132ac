import { Readable } from 'node:stream';
import type { ByteRange } from '@postrider/blobs';
import type { KeyedQueue } from '@postrider/limits';
import { inPieces } from './answer.ts';
import type { FileAnswer } from './answer.ts';

/** Bytes that one read takes from a store. */
const READ_BYTES = 1024 * 1024;
/** Two reads: the next may arrive before the client has taken all of the first. */
const HELD_BYTES = 2 * READ_BYTES;

/** The reads from Postgres that run at a time: one of each account, two in all. */
export const STORE_READS = { perKey: 1, total: 2 };

/** Bytes in a store that can be read in part. */
export interface StoredBytes {
  /** The account. Its reads wait for slots in the queue. */
  readonly owner: string;
  readonly queue: KeyedQueue;
  /** @returns null when the bytes are deleted. */
  readonly read: (range: ByteRange) => Promise<Buffer | null>;
}

/**
 * Streams a range as fast as its client reads. A client that reads slowly holds no slot, and no connection to
 * the store. The range is empty when it ends before its start.
 */
export function streamInSlots(
  bytes: StoredBytes,
  range: ByteRange,
): Pick<FileAnswer, 'length' | 'owner' | 'heldBytes' | 'stream'> {
  const length = range.end - range.start + 1;
  const stream: Readable = Readable.from(
    pieces(bytes, range, () => stream.destroyed),
    { objectMode: false },
  );
  return { length, owner: bytes.owner, heldBytes: Math.min(length, HELD_BYTES), stream };
}

async function* pieces(
  { owner, queue, read }: StoredBytes,
  { start, end }: ByteRange,
  hasClientLeft: () => boolean,
): AsyncGenerator<Buffer> {
  for (let at = start; at <= end;) {
    const slot = queue.join(owner, 1);
    let piece: Buffer | null;
    try {
      await slot.granted;
      if (hasClientLeft()) return;
      piece = await read({ start: at, end: Math.min(end, at + READ_BYTES - 1) });
    } finally {
      slot.release();
    }
    if (piece === null || piece.length === 0) throw new Error('the rest of the bytes was deleted');
    yield* inPieces(piece);
    at += piece.length;
  }
}
