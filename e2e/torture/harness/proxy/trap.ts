import type { Direction } from './flow.ts';

/** What to wait for on the wire, and what to hold when it is seen. */
export interface TrapRequest {
  /**
   * Text that the protocol carries in the clear: `COMMIT`, the name of a prepared statement (`take-deliveries`,
   * `finish-done`: it is in every Bind), a Redis command.
   */
  readonly sees: string;
  readonly in: Direction;
  /**
   * The direction of that connection that stands still from then on. The same as `in`: the text itself is held and
   * never arrives. The other one: it arrives, its answer does not.
   */
  readonly holds: Direction;
  /** Occurrences that pass first; 0. */
  readonly skip?: number;
}

/** The connection that was caught. */
export interface Caught {
  /** Waits until the other side has answered into the held direction: what was asked for has been done. */
  answered(): Promise<void>;
  /** Lets what was held go on. */
  release(): void;
  /** Ends the connection with a reset on both sides; what was held is lost. */
  cut(): void;
}

export interface Trap {
  /** @throws when nothing was caught within the time (a minute). */
  caught(withinMs?: number): Promise<Caught>;
  /** Catches nothing from now on. */
  disarm(): void;
}

/** Finds a text in a stream that comes in chunks, also where it lies across two of them. */
export function createFinder(text: string): (chunk: Buffer) => number {
  const needle = Buffer.from(text, 'latin1');
  let tail = Buffer.alloc(0);
  return (chunk) => {
    const stream = Buffer.concat([tail, chunk]);
    let found = 0;
    let from = 0;
    for (let at = stream.indexOf(needle); at !== -1; at = stream.indexOf(needle, from)) {
      found += 1;
      from = at + needle.length;
    }
    // No longer than what cannot hold a whole occurrence, or it would be counted twice.
    tail = stream.subarray(Math.max(from, stream.length - needle.length + 1));
    return found;
  };
}
