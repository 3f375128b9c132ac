/** Of the largest block; a small body gets small ones. */
const BLOCK_BYTES = 64 * 1024;

/** Bytes in blocks: a client that sends them one by one, each a chunk of its own, takes no more memory than another. */
export class GatheredBytes {
  length = 0;
  readonly #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;

  add(chunk: Buffer): void {
    this.length += chunk.length;
    for (let from = 0; from < chunk.length;) {
      if (this.#used === this.#block.length) {
        this.#full.push(this.#block);
        this.#block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, this.length));
        this.#used = 0;
      }
      const copied = chunk.copy(this.#block, this.#used, from);
      this.#used += copied;
      from += copied;
    }
  }

  whole(): Buffer {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)], this.length);
  }
}
