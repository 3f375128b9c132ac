/** Numbers that a seed repeats exactly. */
export interface Random {
  /** A number from 0, below 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<T>(choices: readonly T[]): T;
  /** Picks so many, each once, and keeps their order. */
  some<T>(choices: readonly T[], count: number): T[];
}

/** Mulberry32: 32 bits of state are enough to choose moments and processes. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    pick<T>(choices: readonly T[]): T {
      if (choices.length === 0) throw new RangeError('there is nothing to pick from');
      return choices[between(0, choices.length - 1)] as T;
    },
    some(choices, count) {
      let open = count;
      // The chance of a choice is the number of open picks, divided by the number of choices that are left.
      return choices.filter((_, n) => {
        const isPicked = next() < open / (choices.length - n);
        if (isPicked) open -= 1;
        return isPicked;
      });
    },
  };
}
