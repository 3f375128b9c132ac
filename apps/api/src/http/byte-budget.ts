interface BudgetLimits {
  /** Of all bodies together, but for those of the one that goes on in spite of it. */
  readonly bytesMax: number;
  /** The first bytes of each body that are not counted: the number of connections bounds them. */
  readonly bytesFree: number;
}

/** What one body has in hand. */
export interface Share {
  /**
   * Counts bytes that have arrived.
   *
   * @returns null when more may be read at once; else it resolves when more may be; never, when the body ends before.
   */
  take(bytes: number): Promise<void> | null;
  /** Gives everything back; a second time is harmless. */
  leave(): void;
}

export interface ByteBudget {
  /** @param owner whose bodies count together. */
  open(owner: string): Share;
}

interface Body {
  readonly owner: string;
  /** Read, or waiting to be. */
  arrived: number;
  /** Of those, what has found room. */
  counted: number;
  goOn: () => void;
}

/**
 * Counts bodies as they arrive: what is only announced takes nothing. An owner may have as much as is left free, so one
 * alone gets a half, two a third each, and there is room for one more however many there are. A body that finds
 * none waits, read no further; the first of those goes on all the same, to its end, so that they cannot all wait for
 * each other: one body on top of `bytesMax`.
 */
export function createByteBudget({ bytesMax, bytesFree }: BudgetLimits): ByteBudget {
  const waiting = new Set<Body>();
  const held = new Map<string, number>();
  let total = 0;
  let privileged: Body | null = null;

  function count(body: Body, bytes: number): void {
    const left = (held.get(body.owner) ?? 0) + bytes;
    if (left === 0) held.delete(body.owner);
    else held.set(body.owner, left);
    total += bytes;
    body.counted += bytes;
  }

  function admit(body: Body): boolean {
    const bytes = Math.max(0, body.arrived - bytesFree) - body.counted;
    if (body === privileged || bytes <= 0) return true;
    if ((held.get(body.owner) ?? 0) + bytes > bytesMax - total) return false;
    count(body, bytes);
    return true;
  }

  function letGoOn(): void {
    for (const body of waiting) {
      if (!admit(body)) {
        if (privileged !== null) continue;
        privileged = body;
        count(body, -body.counted);
      }
      waiting.delete(body);
      body.goOn();
    }
  }

  return {
    open(owner) {
      const body: Body = { owner, arrived: 0, counted: 0, goOn: () => undefined };
      return {
        take(bytes) {
          body.arrived += bytes;
          if (admit(body)) return null;
          const room = new Promise<void>((resolve) => (body.goOn = resolve));
          waiting.add(body);
          letGoOn();
          return room;
        },
        leave() {
          waiting.delete(body);
          if (privileged === body) privileged = null;
          count(body, -body.counted);
          letGoOn();
        },
      };
    },
  };
}
