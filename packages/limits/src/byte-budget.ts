import { FairByteBudget } from './fair-byte-budget.ts';

interface BudgetLimits {
  readonly bytesMax: number;
  /** The first bytes of each holding, which come from the reserved quarter. */
  readonly smallBytes: number;
}

/** The bytes of one message. */
export interface HeldBytes {
  /** @returns false when the budget has too few bytes for this owner. Release the holding then. */
  take(bytes: number): boolean;
  /** Gives all bytes back. */
  release(): void;
}

/**
 * Bytes that several owners share. A holding that finds too few bytes gets none.
 *
 * A quarter is reserved for the first `smallBytes` of each holding. In both parts, an owner may hold as many
 * bytes as are still free: see `FairByteBudget`.
 */
export class ByteBudget {
  readonly #smallBytes: number;
  readonly #reserved: FairByteBudget;
  readonly #shared: FairByteBudget;

  constructor({ bytesMax, smallBytes }: BudgetLimits) {
    this.#smallBytes = smallBytes;
    this.#reserved = new FairByteBudget({ bytesMax: bytesMax / 4, bytesUncounted: 0 });
    this.#shared = new FairByteBudget({ bytesMax: bytesMax * (3 / 4), bytesUncounted: smallBytes });
  }

  /** @param owner one owner's holdings count together. */
  open(owner: string): HeldBytes {
    const reserved = this.#reserved.open(owner);
    const shared = this.#shared.open(owner);
    let smallBytes = this.#smallBytes;
    return {
      take: (bytes) => {
        const small = Math.min(bytes, smallBytes);
        smallBytes -= small;
        return reserved.takeNow(small) && shared.takeNow(bytes);
      },
      release: () => {
        reserved.release();
        shared.release();
      },
    };
  }

  /** True when a new holding of this size fits now. */
  hasSpace(owner: string, bytes: number): boolean {
    const holding = this.open(owner);
    const fits = holding.take(bytes);
    holding.release();
    return fits;
  }
}
