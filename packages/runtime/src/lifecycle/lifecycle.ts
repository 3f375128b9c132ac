import { performance } from 'node:perf_hooks';
import { within } from '@postrider/limits';
import type { Logger } from '../logging/logger.ts';
import { messageOf } from '../logging/error-words.ts';
import { maskSecrets } from '../logging/redact.ts';
import { settleHeap } from './settle-heap.ts';
import { nodeProcess, type ProcessControl, type StopSignal } from './process-control.ts';

/** A part of a process, such as a server or a connection pool. */
export interface Part {
  start?: () => Promise<unknown> | undefined;
  /**
   * Finishes work in flight and releases resources. Also called when a signal comes while this part starts.
   * @param remainingMs the time until the process exits, finished or not.
   */
  stop?: (remainingMs: number) => Promise<unknown> | undefined;
}

export interface LifecycleOptions {
  logger: Logger;
  /** The longest time between the signal and the exit. */
  deadlineMs: number;
  control?: ProcessControl;
}

const SIGNAL_EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/** Starts a list of parts in order, and stops them in reverse. */
export class Lifecycle {
  readonly #logger: Logger;
  readonly #deadlineMs: number;
  readonly #control: ProcessControl;
  readonly #parts: { name: string; part: Part }[] = [];
  /** The number of parts that have begun to start. */
  #begun = 0;
  #stopping = false;

  constructor({ logger, deadlineMs, control = nodeProcess }: LifecycleOptions) {
    this.#logger = logger;
    this.#deadlineMs = deadlineMs;
    this.#control = control;
  }

  /** Adds a part. A part may add others while it starts; they start after it. */
  add(name: string, part: Part): this {
    this.#parts.push({ name, part });
    return this;
  }

  /**
   * Starts the parts in the order of `add`. Resolves when all have started, or when the process begins to
   * stop. Never rejects.
   *
   * From then on SIGTERM and SIGINT stop the process with exit code 0. A second signal ends it at once, with
   * 143 for SIGTERM and 130 for SIGINT. A failed start or an uncaught exception stops it with exit code 1.
   */
  async run(): Promise<void> {
    this.#control.onSignal((signal) => this.#onSignal(signal));
    this.#control.onFatal((error) => this.#onFatal(error));
    for (const { name, part } of this.#parts) {
      if (this.#isStopping()) return;
      this.#begun += 1;
      try {
        await part.start?.();
      } catch (error) {
        await this.#onFailedStart(name, error);
        return;
      }
    }
    await settleHeap();
    if (!this.#isStopping()) this.#logger.info('started');
  }

  /** A method, because TypeScript does not see that a signal may change the field between two awaits. */
  #isStopping(): boolean {
    return this.#stopping;
  }

  #onSignal(signal: StopSignal): void {
    if (this.#stopping) {
      this.#logger.warn('stopped at once by a second signal', { signal });
      this.#control.exit(SIGNAL_EXIT_CODES[signal]);
      return;
    }
    this.#logger.info('stopping', { signal });
    void this.#stopAndExit(0);
  }

  #onFatal(error: unknown): void {
    this.#logger.error('an exception that nobody caught', { error });
    if (!this.#stopping) void this.#stopAndExit(1);
  }

  async #onFailedStart(name: string, error: unknown): Promise<void> {
    // The stop may have closed what this part was waiting for.
    if (this.#stopping) return;
    this.#logger.error('start failed', { part: name, error });
    this.#begun -= 1;
    await this.#stopParts();
    this.#control.complain(`postrider: cannot start ${name}: ${oneLine(maskSecrets(messageOf(error)))}`);
    this.#control.exit(1);
  }

  async #stopAndExit(code: number): Promise<void> {
    await this.#stopParts();
    this.#control.exit(code);
  }

  async #stopParts(): Promise<void> {
    this.#stopping = true;
    // A monotonic clock: setting the wall clock must not move the deadline.
    const deadline = performance.now() + this.#deadlineMs;
    for (const { name, part } of this.#parts.slice(0, this.#begun).reverse()) {
      await this.#stopPart(name, part, Math.max(0, Math.ceil(deadline - performance.now())));
    }
    this.#logger.info('stopped');
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

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
