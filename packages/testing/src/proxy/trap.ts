import type { Direction } from './flow.ts';

/** The text to wait for on the wire, and the direction to hold when it is seen. */
export interface TrapRequest {
  /**
   * Plain text of the protocol: `COMMIT`, a Redis command, or the name of a prepared statement
   * (`take-deliveries`, `finish-done`), which is in every Bind.
   */
  readonly sees: string;
  readonly in: Direction;
  /**
   * The direction of that connection that is held from then on. The same as `in`: the text itself does not
   * arrive. The other one: it arrives, its answer does not.
   */
  readonly holds: Direction;
  /** The number of occurrences that pass first. Default: 0. */
  readonly skip?: number;
}

/** The connection that was caught. */
export interface Caught {
  /** Waits until the held direction has bytes: the server has done what the text asked for. */
  answered(): Promise<void>;
  /** Passes the held bytes. */
  release(): void;
  /** Resets the connection on both sides. Held bytes are lost. */
  cut(): void;
}

export interface Trap {
  /** @throws when nothing was caught in time. Default: a minute. */
  caught(withinMs?: number): Promise<Caught>;
  /** Stops waiting. */
  disarm(): void;
}

/** Counts a text in a stream of chunks, also across two chunks. */
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
    // Shorter than the text, or an occurrence would be counted twice.
    tail = stream.subarray(Math.max(from, stream.length - needle.length + 1));
    return found;
  };
}
