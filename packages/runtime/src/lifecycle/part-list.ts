import { within } from '@postrider/limits';
import type { Logger } from '../logging/logger.ts';

/** A part of a process, such as a server or a connection pool. */
export interface Part {
  start?: () => Promise<unknown> | undefined;
  /**
   * Finishes work in flight and releases resources. Also called when a signal comes while this part starts.
   * @param remainingMs the time until the process exits, finished or not.
   */
  stop?: (remainingMs: number) => Promise<unknown> | undefined;
}

/** A part did not start. */
export class FailedStart extends Error {
  readonly part: string;

  constructor(part: string, cause: unknown) {
    super(`cannot start ${part}`, { cause });
    this.part = part;
  }
}

/** Starts parts in the order of `add`, and stops them in reverse. A list may be a part of another list. */
export class PartList implements Part {
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #parts: { name: string; part: Part }[] = [];
  /** The number of parts that have begun to start. */
  #begun = 0;
  #stopping = false;

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger;
  }

  /** Adds a part. While it starts, it may add further parts: these start after it. */
  add(name: string, part: Part): this {
    this.#parts.push({ name, part });
    return this;
  }

  /** A method, because TypeScript does not see that a signal may change the field between two awaits. */
  isStopping(): boolean {
    return this.#stopping;
  }

  /**
   * Resolves when all parts have started, or when the list begins to stop.
   *
   * @throws FailedStart. The parts that have started run until `stop`.
   */
  async start(): Promise<void> {
    for (const { name, part } of this.#parts) {
      if (this.isStopping()) return;
      this.#begun += 1;
      try {
        await part.start?.();
      } catch (error) {
        // The stop may have closed what this part was waiting for.
        if (this.isStopping()) return;
        // This part is a list: `stop` must also stop what it has started.
        if (error instanceof FailedStart) throw error;
        this.#begun -= 1;
        throw new FailedStart(name, error);
      }
    }
  }

  /** Stops what has begun to start. Never rejects. */
  async stop(remainingMs: number): Promise<void> {
    this.#stopping = true;
    // A monotonic clock: setting the wall clock must not move the deadline.
    const deadline = performance.now() + remainingMs;
    for (const { name, part } of this.#parts.slice(0, this.#begun).reverse()) {
      await this.#stopPart(name, part, Math.max(0, Math.ceil(deadline - performance.now())));
    }
  }

  async #stopPart(name: string, part: Part, remainingMs: number): Promise<void> {
    try {
      const finished = async () => {
        await part.stop?.(remainingMs);
        return true;
      };
      const inTime = await within(finished, remainingMs, () => false);
      if (!inTime) this.#logger.warn('stop cut short at the deadline', { part: name });
    } catch (error) {
      this.#logger.warn('stop failed', { part: name, error });
    }
  }
}

/** The lists stop this long before the exit. What they share, such as connections, stops after them. */
const CLOSING_TIME_MS = 500;

/** Starts lists in order, and stops them at the same time. So a slow list takes no time from another. */
export function stoppingTogether(lists: readonly PartList[]): Part {
  return {
    async start() {
      for (const list of lists) await list.start();
    },
    stop(remainingMs) {
      const listsMs = Math.max(0, remainingMs - CLOSING_TIME_MS);
      return Promise.all(lists.map((list) => list.stop(listsMs)));
    },
  };
}
