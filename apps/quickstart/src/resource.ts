import type { Part } from '@postrider/runtime';

/** A part that provides a value to the parts after it. */
export interface Resource<T> extends Required<Part> {
  /** @throws Error before the part has started. */
  readonly value: T;
}

/**
 * @param make makes the value. `signal` aborts when the part stops. A value that arrives later is still
 * released.
 * @param release is not called when `make` failed: `make` cleans up itself.
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
      const value = await making?.catch(() => null); // `start` has reported the failure
      if (value !== null && value !== undefined) await release(value);
    },
    get value() {
      if (made === null) throw new Error('used before it was started');
      return made;
    },
  };
}
