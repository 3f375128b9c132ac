import type { ByteBudget } from './byte-budget.ts';

/** One allocation. Small enough for a short message, and a message of 10 MiB takes 160. */
const BLOCK_BYTES = 64 * 1024;

/**
 * The bytes of one message while it comes in. It copies what it is given: a client that sends a byte a packet would
 * otherwise cost an object for each of them.
 *
 * The budget counts whole blocks. `join` copies them into one buffer and drops them in the same turn of the event loop,
 * so all messages together hold at most the budget and one message more.
 */
export class MessageBuffer {
  readonly #budget: ByteBudget;
  #blocks: Buffer[] = [];
  #taken = 0;
  #length = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** @returns false when the budget is exhausted; a part of the bytes may have been kept */
  append(bytes: Buffer): boolean {
    for (let from = 0; from < bytes.length;) {
      const offset = this.#length % BLOCK_BYTES;
      if (offset === 0 && !this.#addBlock()) return false;
      const copied = bytes.copy(this.#blocks.at(-1) as Buffer, offset, from);
      this.#length += copied;
      from += copied;
    }
    return true;
  }

  /** All bytes in one buffer. What they took of the budget stays taken until `release`. */
  join(): Buffer {
    const joined = Buffer.concat(this.#blocks, this.#length);
    this.#blocks = [];
    return joined;
  }

  /** Forgets the bytes and gives back what they took of the budget. */
  release(): void {
    this.#budget.release(this.#taken);
    this.#blocks = [];
    this.#taken = 0;
    this.#length = 0;
  }

  #addBlock(): boolean {
    if (!this.#budget.take(BLOCK_BYTES)) return false;
    this.#taken += BLOCK_BYTES;
    // Not from Node's pool, which one small message would keep whole.
    this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
    return true;
  }
}
