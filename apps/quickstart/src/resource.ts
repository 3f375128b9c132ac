import type { Part } from '@postrider/runtime';

/** A part that provides a value to the parts after it. */
export class Resource<T extends object | string | number> implements Required<Part> {
  readonly #make: (signal: AbortSignal) => Promise<T>;
  readonly #release: (value: T) => Promise<unknown> | undefined;
  readonly #unwanted = new AbortController();
  #making: Promise<T> | null = null;
  #made: T | null = null;

  /**
   * @param make makes the value. `signal` aborts when the part stops. A value that arrives later is still
   * released.
   * @param release is not called when `make` failed: `make` cleans up itself.
   */
  constructor(
    make: (signal: AbortSignal) => Promise<T>,
    release: (value: T) => Promise<unknown> | undefined = () => undefined,
  ) {
    this.#make = make;
    this.#release = release;
  }

  async start(): Promise<void> {
    this.#making = this.#make(this.#unwanted.signal);
    this.#made = await this.#making;
  }

  async stop(): Promise<void> {
    this.#unwanted.abort();
    const value = await this.#making?.catch(() => null); // `start` has reported the failure
    if (value !== null && value !== undefined) await this.#release(value);
  }

  /** @throws Error before the part has started. */
  get value(): T {
    if (this.#made === null) throw new Error('used before it was started');
    return this.#made;
  }
}
