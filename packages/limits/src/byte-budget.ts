import { FairByteBudget } from './fair-byte-budget.ts';

interface BudgetLimits {
  readonly bytesMax: number;
  /** The first bytes of each holding, which come from the reserved quarter. */
  readonly smallBytes: number;
}

/** A holding: the bytes of a message. */
export interface HeldBytes {
  /** @returns false when the budget has too few bytes for this owner. Call `release` then. */
  take(bytes: number): boolean;
  /** Gives all bytes back. */
  release(): void;
}

/**
 * Bytes that several owners share. A holding that does not fit is refused; it does not wait.
 *
 * A quarter is reserved for the first `smallBytes` of each holding. The other three quarters hold the bytes
 * after these. In both parts, an owner may hold as many bytes as are still free: see `FairByteBudget`.
 */
export class ByteBudget {
  readonly #smallBytes: number;
  readonly #reserved: FairByteBudget;
  readonly #shared: FairByteBudget;

  constructor({ bytesMax, smallBytes }: BudgetLimits) {
    this.#smallBytes = smallBytes;
    this.#reserved = new FairByteBudget({ bytesMax: bytesMax / 4, bytesUncounted: 0 });
    // This part does not count the bytes that the reserved part counts.
    this.#shared = new FairByteBudget({ bytesMax: bytesMax * (3 / 4), bytesUncounted: smallBytes });
  }

  /** @param owner all holdings with this owner count together. */
  open(owner: string): HeldBytes {
    const reserved = this.#reserved.open(owner);
    const shared = this.#shared.open(owner);
    let smallBytesLeft = this.#smallBytes;
    return {
      take: (bytes) => {
        const small = Math.min(bytes, smallBytesLeft);
        smallBytesLeft -= small;
        return reserved.takeNow(small) && shared.takeNow(bytes);
      },
      release: () => {
        reserved.release();
        shared.release();
      },
    };
  }

  /** True when a new holding of `bytes` fits now. */
  hasSpace(owner: string, bytes: number): boolean {
    const holding = this.open(owner);
    const fits = holding.take(bytes);
    holding.release();
    return fits;
  }
}
