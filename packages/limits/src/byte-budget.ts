/** Bytes that several holders share. A holder that finds too few gets none. */
export class ByteBudget {
  #available: number;

  constructor(bytes: number) {
    this.#available = bytes;
  }

  get available(): number {
    return this.#available;
  }

  /** @returns false, and takes nothing, when fewer bytes are available. */
  take(bytes: number): boolean {
    if (bytes > this.#available) return false;
    this.#available -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.#available += bytes;
  }
}
