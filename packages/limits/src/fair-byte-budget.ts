interface BudgetLimits {
  /** All bodies together. One body may exceed this limit. */
  readonly bytesMax: number;
  /** The first bytes of each body do not count. Limit the number of bodies elsewhere. */
  readonly bytesUncounted: number;
}

/** A body's part of the budget. */
export interface BodyBytes {
  /**
   * Counts bytes that have arrived.
   *
   * @returns null when the body may continue. Otherwise it resolves when the body may continue, or never
   * after `release`.
   */
  take(bytes: number): Promise<void> | null;
  /** Counts bytes if they fit. @returns false, and counts none, when they do not. */
  takeNow(bytes: number): boolean;
  /** Gives all bytes back. A second call does nothing. */
  release(): void;
}

interface Body {
  readonly owner: string;
  arrived: number;
  /** The arrived bytes that the budget has counted. */
  counted: number;
  resume: () => void;
}

/**
 * A memory budget for bodies that arrive in parts. It counts bytes on arrival; announced bytes take nothing.
 *
 * An owner may hold as many bytes as are still free. So one owner alone gets half of the budget, two get a
 * third each, and there is always space for one more owner. A body without space waits and must be read no
 * further. One waiting body continues in any case, to its end, so that not all bodies wait for each other. It
 * is the first waiting body of the owner that holds least.
 */
export class FairByteBudget {
  readonly #limits: BudgetLimits;
  readonly #waiting = new Set<Body>();
  readonly #held = new Map<string, number>();
  #total = 0;
  /** This body may exceed the budget, and its bytes do not count. */
  #exempt: Body | null = null;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /** @param owner an owner's bodies count together. */
  open(owner: string): BodyBytes {
    const body: Body = { owner, arrived: 0, counted: 0, resume: () => undefined };
    return {
      take: (bytes) => this.#take(body, bytes),
      takeNow: (bytes) => {
        const fits = this.#arrive(body, bytes);
        if (!fits) body.arrived -= bytes;
        return fits;
      },
      release: () => this.#release(body),
    };
  }

  #take(body: Body, bytes: number): Promise<void> | null {
    if (this.#arrive(body, bytes)) return null;
    const resumed = new Promise<void>((resolve) => (body.resume = resolve));
    this.#waiting.add(body);
    this.#resumeNext();
    return resumed;
  }

  #arrive(body: Body, bytes: number): boolean {
    body.arrived += bytes;
    return this.#admit(body);
  }

  #release(body: Body): void {
    this.#waiting.delete(body);
    if (this.#exempt === body) this.#exempt = null;
    this.#count(body, -body.counted);
    this.#resumeNext();
  }

  #admit(body: Body): boolean {
    const { bytesMax, bytesUncounted } = this.#limits;
    const bytes = Math.max(0, body.arrived - bytesUncounted) - body.counted;
    if (body === this.#exempt || bytes <= 0) return true;
    if ((this.#held.get(body.owner) ?? 0) + bytes > bytesMax - this.#total) return false;
    this.#count(body, bytes);
    return true;
  }

  #resumeNext(): void {
    this.#resumeFitting();
    if (this.#exempt !== null || this.#waiting.size === 0) return;
    const heldFor = ({ owner }: Body): number => this.#held.get(owner) ?? 0;
    const next = [...this.#waiting].reduce((least, body) => (heldFor(body) < heldFor(least) ? body : least));
    this.#exempt = next;
    this.#count(next, -next.counted);
    this.#resumeFitting();
  }

  #resumeFitting(): void {
    for (const body of this.#waiting) {
      if (!this.#admit(body)) continue;
      this.#waiting.delete(body);
      body.resume();
    }
  }

  #count(body: Body, bytes: number): void {
    const held = (this.#held.get(body.owner) ?? 0) + bytes;
    if (held === 0) this.#held.delete(body.owner);
    else this.#held.set(body.owner, held);
    this.#total += bytes;
    body.counted += bytes;
  }
}
