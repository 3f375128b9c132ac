import { Session } from 'node:inspector';
import type { Logger } from '../logging/logger.ts';
import { messageOf } from '../logging/error-words.ts';
import { maskSecrets } from '../logging/redact.ts';
import { type FailedStart, PartList } from './part-list.ts';
import { nodeProcess, type ProcessControl, type StopSignal } from './process-control.ts';

export interface LifecycleOptions {
  logger: Logger;
  /** The longest time between the signal and the exit. */
  deadlineMs: number;
  control?: ProcessControl;
}

const SIGNAL_EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/** The start list of a process: it stops on a signal, and ends the process. */
export class Lifecycle extends PartList {
  readonly #logger: Logger;
  readonly #deadlineMs: number;
  readonly #control: ProcessControl;
  #signalled = false;

  constructor({ logger, deadlineMs, control = nodeProcess() }: LifecycleOptions) {
    super(logger);
    this.#logger = logger;
    this.#deadlineMs = deadlineMs;
    this.#control = control;
  }

  /**
   * Starts the parts in the order of `add`. Resolves when all have started, or when the process begins to
   * stop. Never rejects.
   *
   * From this call on, SIGTERM and SIGINT stop the process with exit code 0. A second signal, over a second
   * later, ends it at once, with 143 for SIGTERM and 130 for SIGINT. A failed start or an uncaught exception
   * stops it with exit code 1.
   */
  async run(): Promise<void> {
    this.#control.onSignal((signal) => this.#onSignal(signal));
    this.#control.onFatal((error) => this.#onFatal(error));
    try {
      await this.start();
    } catch (error) {
      await this.#onFailedStart(error as FailedStart);
      return;
    }
    await settleHeap();
    if (!this.isStopping()) this.#logger.info('started');
  }

  #onSignal(signal: StopSignal): void {
    if (this.#signalled) {
      this.#logger.warn('stopped at once by a second signal', { signal });
      this.#control.exit(SIGNAL_EXIT_CODES[signal]);
      return;
    }
    this.#signalled = true;
    this.#logger.info('stopping', { signal });
    if (!this.isStopping()) void this.#stopAndExit(0);
  }

  #onFatal(error: unknown): void {
    this.#logger.error('an exception that nobody caught', { error });
    if (!this.isStopping()) void this.#stopAndExit(1);
  }

  async #onFailedStart({ part, cause }: FailedStart): Promise<void> {
    this.#logger.error('start failed', { part, error: cause });
    await this.#stopParts();
    this.#control.complain(`postrider: cannot start ${part}: ${oneLine(maskSecrets(messageOf(cause)))}`);
    this.#control.exit(1);
  }

  async #stopAndExit(code: number): Promise<void> {
    await this.#stopParts();
    this.#control.exit(code);
  }

  async #stopParts(): Promise<void> {
    await this.stop(this.#deadlineMs);
    this.#logger.info('stopped');
  }
}

/**
 * Runs one full garbage collection. Until the first full collection V8 lets the heap grow to a share of the
 * machine's memory. After it, the limit follows the live objects.
 */
export async function settleHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  // An error is ignored: V8 then collects later.
  await new Promise<unknown>((resolve) => session.post('HeapProfiler.collectGarbage', resolve));
  session.disconnect();
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
