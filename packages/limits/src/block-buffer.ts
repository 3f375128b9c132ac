import type { HeldBytes } from './byte-budget.ts';

const BLOCK_BYTES = 64 * 1024;

/**
 * Collects a message in blocks of 64 KiB. It copies the bytes that it gets. So a client that sends one byte
 * per packet takes no more memory than other clients.
 *
 * With a budget, all blocks have 64 KiB and the budget counts each. Without one, the first blocks are
 * smaller.
 */
export class BlockBuffer {
  readonly #budget: HeldBytes | undefined;
  #blocks: Buffer[] = [];
  /** Bytes used in the last block. */
  #used = 0;
  #length = 0;

  constructor(budget?: HeldBytes) {
    this.#budget = budget;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns false when the budget is exhausted. The buffer may then hold a part of the bytes. */
  append(bytes: Buffer): boolean {
    for (let from = 0; from < bytes.length;) {
      const block = this.#blockFor(bytes.length - from);
      if (block === null) return false;
      const copied = bytes.copy(block, this.#used, from);
      this.#used += copied;
      this.#length += copied;
      from += copied;
    }
    return true;
  }

  /**
   * Copies all bytes into one buffer and drops the blocks. The budget counts the bytes until `release`. They
   * are in memory twice only during the copy. So all messages hold at most the budget and one message more.
   */
  join(): Buffer {
    const joined = Buffer.concat(this.#blocks, this.#length);
    this.#blocks = [];
    return joined;
  }

  /** Drops the bytes and gives the blocks back to the budget. The buffer is of no use afterwards. */
  release(): void {
    this.#budget?.release();
    this.#blocks = [];
  }

  /** @returns a block with space, or null when the budget is exhausted. */
  #blockFor(bytes: number): Buffer | null {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used < last.length) return last;
    const size = this.#budget === undefined ? Math.min(BLOCK_BYTES, this.#length + bytes) : BLOCK_BYTES;
    if (this.#budget?.take(size) === false) return null;
    const block = Buffer.allocUnsafe(size);
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}
