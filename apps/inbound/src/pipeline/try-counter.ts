/** Limits the memory: about 1 MB for keys of 64 characters. */
const MESSAGES_MAX = 10_000;

/**
 * Counts the tries of messages that we deferred. When the counter is full, it forgets the message with the
 * oldest try. The message's next try counts as its first.
 */
export class TryCounter {
  readonly #tries = new Map<string, number>();

  /** @returns the number of tries, this one included */
  count(key: string): number {
    const tries = (this.#tries.get(key) ?? 0) + 1;
    this.#tries.delete(key);
    this.#tries.set(key, tries);
    const [oldest] = this.#tries.keys();
    if (this.#tries.size > MESSAGES_MAX && oldest !== undefined) this.#tries.delete(oldest);
    return tries;
  }
}
