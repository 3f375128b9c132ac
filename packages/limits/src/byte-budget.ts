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
 * A quarter is reserved for the first `smallBytes` of each holding. The other bytes are shared: an owner may
 * hold as many as are still free. So one owner alone gets half of them, two get a third each, and there is
 * always space for one more owner.
 */
export class ByteBudget {
  readonly #smallBytes: number;
  /** The shared bytes that each owner holds. */
  readonly #byOwner = new Map<string, number>();
  #reservedFree: number;
  #sharedFree: number;

  constructor({ bytesMax, smallBytes }: BudgetLimits) {
    this.#smallBytes = smallBytes;
    this.#reservedFree = bytesMax / 4;
    this.#sharedFree = bytesMax - this.#reservedFree;
  }

  /** @param owner one owner's holdings count together. */
  open(owner: string): HeldBytes {
    let held = 0;
    return {
      take: (bytes) => {
        if (!this.#fits(owner, held, held + bytes)) return false;
        this.#count(owner, held, held + bytes);
        held += bytes;
        return true;
      },
      release: () => {
        this.#count(owner, held, 0);
        held = 0;
      },
    };
  }

  /** Whether a new holding of this size fits now. */
  hasSpace(owner: string, bytes: number): boolean {
    return this.#fits(owner, 0, bytes);
  }

  #fits(owner: string, before: number, after: number): boolean {
    const { reserved, shared } = this.#difference(before, after);
    if (reserved > this.#reservedFree) return false;
    return shared === 0 || this.#sharedOf(owner) + shared <= this.#sharedFree;
  }

  #count(owner: string, before: number, after: number): void {
    const { reserved, shared } = this.#difference(before, after);
    this.#reservedFree -= reserved;
    this.#sharedFree -= shared;
    const held = this.#sharedOf(owner) + shared;
    if (held === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, held);
  }

  /** The bytes of each part that a holding takes to grow from `before` to `after` bytes. */
  #difference(before: number, after: number): { reserved: number; shared: number } {
    const reserved = Math.min(after, this.#smallBytes) - Math.min(before, this.#smallBytes);
    return { reserved, shared: after - before - reserved };
  }

  #sharedOf(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }
}
