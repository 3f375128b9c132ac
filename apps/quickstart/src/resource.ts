import type { Part } from '@postrider/runtime';

/** A part of the system that is something for the parts after it. */
export interface Resource<T> extends Required<Part> {
  /** @throws Error before the part has started. */
  readonly value: T;
}

/**
 * @param make told by `signal` when it is no longer wanted. What it makes all the same is released.
 * @param release not called when `make` has failed: that cleans up after itself.
 */
export function resource<T extends object | string | number>(
  make: (signal: AbortSignal) => Promise<T>,
  release: (value: T) => Promise<unknown> | undefined = () => undefined,
): Resource<T> {
  const unwanted = new AbortController();
  let making: Promise<T> | null = null;
  let made: T | null = null;
  return {
    async start() {
      making = make(unwanted.signal);
      made = await making;
    },
    async stop() {
      unwanted.abort();
      const value = await making?.catch(() => null); // its failure is the start's
      if (value !== null && value !== undefined) await release(value);
    },
    get value() {
      if (made === null) throw new Error('used before it was started');
      return made;
    },
  };
}
