/** Of the largest block; a small body gets small ones. */
const BLOCK_BYTES = 64 * 1024;

export interface GatheredBytes {
  readonly length: number;
  add(chunk: Buffer): void;
  whole(): Buffer;
}

/** Bytes in blocks: a client that sends them one by one, each a chunk of its own, takes no more memory than another. */
export function gatherBytes(): GatheredBytes {
  const full: Buffer[] = [];
  let block = Buffer.alloc(0);
  let used = 0;
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(chunk) {
      length += chunk.length;
      for (let from = 0; from < chunk.length;) {
        if (used === block.length) {
          full.push(block);
          block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, length));
          used = 0;
        }
        const copied = chunk.copy(block, used, from);
        used += copied;
        from += copied;
      }
    },
    whole: () => Buffer.concat([...full, block.subarray(0, used)], length),
  };
}
