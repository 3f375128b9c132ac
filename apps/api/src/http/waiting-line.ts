interface LineLimits {
  /** How many of one key may be admitted at a time. */
  readonly perKey: number;
  /** Of all that are admitted, together. */
  readonly bytesMax: number;
}

/** A place in the line, and later behind it. */
export interface Place {
  /** Null: admitted at once. Else it resolves when it is this one's turn; never, when it leaves before. */
  readonly admitted: Promise<void> | null;
  /** Gives the place up, wherever it is; a second time is harmless. */
  leave(): void;
}

export interface WaitingLine {
  /** @param bytes that this one takes of all; one that takes more than all could not be admitted. */
  join(key: string, bytes: number): Place;
}

interface Waiting {
  readonly key: string;
  readonly bytes: number;
  admit: () => void;
}

/**
 * In the order they came. One that waits for others of its own key is passed by; one that waits for room is not, or
 * smaller ones could make it wait for ever. So room is only for what nobody outside can hold on to.
 */
export function createWaitingLine({ perKey, bytesMax }: LineLimits): WaitingLine {
  const waiting = new Set<Waiting>();
  const keysAdmitted = new Map<string, number>();
  let bytesAdmitted = 0;

  function move({ key, bytes }: Waiting, by: 1 | -1): void {
    const count = (keysAdmitted.get(key) ?? 0) + by;
    if (count === 0) keysAdmitted.delete(key);
    else keysAdmitted.set(key, count);
    bytesAdmitted += by * bytes;
  }

  function admitNext(): void {
    for (const next of waiting) {
      if ((keysAdmitted.get(next.key) ?? 0) >= perKey) continue;
      if (bytesAdmitted + next.bytes > bytesMax) return;
      waiting.delete(next);
      move(next, 1);
      next.admit();
    }
  }

  return {
    join(key, bytes) {
      const place: Waiting = { key, bytes, admit: () => undefined };
      let left = false;
      waiting.add(place);
      admitNext();
      return {
        admitted: waiting.has(place) ? new Promise((resolve) => (place.admit = resolve)) : null,
        leave() {
          if (left) return;
          left = true;
          if (!waiting.delete(place)) move(place, -1);
          admitNext();
        },
      };
    },
  };
}
