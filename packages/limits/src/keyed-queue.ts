interface QueueLimits {
  /** The most slots that one key may use at a time. */
  readonly perKey: number;
  /** The largest sum of the sizes of all slots in use. */
  readonly total: number;
}

export interface Slot {
  /**
   * Null: the slot was free at once. Otherwise it resolves when the slot is free, or never after `release`.
   */
  readonly granted: Promise<void> | null;
  /** Gives the slot's size back to the total. The slot still counts for its key. */
  shrink(): void;
  /** Frees the slot, or leaves the queue. Only the first call counts. */
  release(): void;
}

interface Entry {
  readonly key: string;
  size: number;
  state: 'waiting' | 'granted' | 'released';
  grant: () => void;
}

/**
 * Grants the slots of a key in the order of the calls. Keys take turns. A key at its limit is skipped, and
 * keeps its place. When the next slot does not fit into the total, all other slots wait, too: smaller slots
 * could delay it forever. So use the total only for resources that a slow client cannot hold.
 */
export class KeyedQueue {
  readonly #limits: QueueLimits;
  /** The key whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<Entry>>();
  /** Slots in use, by key. */
  readonly #granted = new Map<string, number>();
  #total = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** The number of slots of the key that wait. */
  waitingOf(key: string): number {
    return this.#waiting.get(key)?.size ?? 0;
  }

  /** @param size counts against the total. A slot larger than the total is never granted. */
  join(key: string, size: number): Slot {
    const entry: Entry = { key, size, state: 'waiting', grant: () => undefined };
    this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(entry));
    this.#grantNext();
    const granted =
      entry.state === 'granted' ? null : new Promise<void>((resolve) => (entry.grant = resolve));
    return { granted, shrink: () => this.#shrink(entry), release: () => this.#release(entry) };
  }

  #shrink(entry: Entry): void {
    if (entry.state === 'granted') this.#total -= entry.size;
    entry.size = 0;
    this.#grantNext();
  }

  #release(entry: Entry): void {
    if (entry.state === 'released') return;
    if (entry.state === 'waiting') this.#leave(entry);
    else this.#count(entry, -1);
    entry.state = 'released';
    this.#grantNext();
  }

  #grantNext(): void {
    for (const [key, waiting] of this.#waiting) {
      const [entry] = waiting;
      if (entry === undefined || (this.#granted.get(key) ?? 0) >= this.#limits.perKey) continue;
      if (this.#total + entry.size > this.#limits.total) return;
      this.#leave(entry);
      // Puts the key behind the other keys, if it still has waiting slots. This loop then meets it again.
      if (this.#waiting.delete(key)) this.#waiting.set(key, waiting);
      this.#count(entry, 1);
      entry.state = 'granted';
      entry.grant();
    }
  }

  #leave(entry: Entry): void {
    const waiting = this.#waiting.get(entry.key);
    waiting?.delete(entry);
    if (waiting?.size === 0) this.#waiting.delete(entry.key);
  }

  #count({ key, size }: Entry, by: 1 | -1): void {
    const count = (this.#granted.get(key) ?? 0) + by;
    if (count === 0) this.#granted.delete(key);
    else this.#granted.set(key, count);
    this.#total += by * size;
  }
}
