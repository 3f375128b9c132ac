import { FairByteBudget } from './fair-byte-budget.ts';

interface BudgetLimits {
  readonly bytesMax: number;
  /** The first bytes of each holding, which come from the reserved quarter. */
  readonly smallBytes: number;
}

/** The bytes of one message. */
export interface HeldBytes {
  /** @returns false, and takes nothing, when the budget has too few bytes for this owner. */
  take(bytes: number): boolean;
  /** Gives all bytes back. */
  release(): void;
}

/**
 * Bytes that several owners share. Who finds too few gets none.
 *
 * A quarter is reserved for the first `smallBytes` of each holding. A `FairByteBudget` shares the others.
 */
export class ByteBudget {
  readonly #smallBytes: number;
  readonly #shared: FairByteBudget;
  #reservedFree: number;

  constructor({ bytesMax, smallBytes }: BudgetLimits) {
    this.#smallBytes = smallBytes;
    this.#reservedFree = bytesMax / 4;
    this.#shared = new FairByteBudget({ bytesMax: bytesMax - this.#reservedFree, bytesFree: smallBytes });
  }

  /** @param owner one owner's holdings count together. */
  open(owner: string): HeldBytes {
    const shared = this.#shared.open(owner);
    let reserved = 0;
    return {
      take: (bytes) => {
        const more = Math.min(bytes, this.#smallBytes - reserved);
        if (more > this.#reservedFree || !shared.takeNow(bytes)) return false;
        this.#reservedFree -= more;
        reserved += more;
        return true;
      },
      release: () => {
        this.#reservedFree += reserved;
        reserved = 0;
        shared.release();
      },
    };
  }

  /** Whether a new holding of this size fits now. */
  hasSpace(owner: string, bytes: number): boolean {
    const holding = this.open(owner);
    const fits = holding.take(bytes);
    holding.release();
    return fits;
  }
}
