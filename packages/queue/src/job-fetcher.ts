import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from 'bullmq';
import { BATCH_MAX } from './batches.ts';

/** The part of BullMQ's worker that fetches. Both back-ends have it. */
export interface JobSource {
  /** Waits for a job when the last fetch found none. Undefined: still none, or the worker is paused. */
  getNextJob(token: string): Promise<Job | undefined>;
}

export interface JobFetcherOptions {
  /**
   * Jobs of ours handled at once. A BullMQ job starts when one slot is free, and may carry more jobs than
   * there are slots.
   */
  readonly jobsMax: number;
  /**
   * Starts the jobs that a BullMQ job carries. Each holds a slot until its promise settles. An empty list
   * means the data is not ours: the BullMQ job is completed at once.
   */
  readonly start: (data: unknown) => readonly Promise<void>[];
  /** False: fetches no jobs, and returns one that a waiting fetch brings. */
  readonly mayFetch: () => boolean;
  readonly stopped: AbortSignal;
  readonly onError: (error: Error) => void;
}

/** Concurrent fetches while the queue is busy. */
const FETCHES_AT_ONCE = 4;
/**
 * The queue is busy when each fetch of two rounds brought a job. After a lone job the queue is often empty.
 */
const BUSY_AFTER = 2;
/** Pause until it asks again whether it may fetch. */
const NOT_NOW_MS = 100;
/** Pause after the queue could not be reached. */
const RETRY_MS = 1_000;
/**
 * Pause after the second empty fetch in a row. BullMQ answers the first one at once, and waits in the next.
 * It may keep answering at once: while another tool limits the queue's rate, or just after delayed jobs were
 * added.
 */
const EMPTY_PAUSE_MS = 5;
/** Tries to complete a job. Afterwards its lock expires, and it comes back as a stale job. */
const COMPLETE_TRIES = 5;

/**
 * Fetches jobs and handles them, as many at once as there are slots.
 *
 * BullMQ's own loop fetches one job after the other, and starts none until a fetch finds nothing. Behind a
 * busy queue, a job then waits for as many round trips as jobs follow it. This class starts each job when it
 * arrives, and fetches several at once. (https://docs.bullmq.io/patterns/manually-fetching-jobs)
 *
 * Locks are not renewed. They usually outlast the work; if not, the row in Postgres decides who may end it.
 */
export class JobFetcher {
  readonly #options: JobFetcherOptions;
  /** Jobs that run: one promise for each BullMQ job. */
  readonly #handling = new Set<Promise<unknown>>();
  /** BullMQ jobs that are not completed yet. */
  readonly #completing = new Set<Promise<unknown>>();
  /** Runs when a slot becomes free, or at the stop. */
  #onSlotFree: () => void = () => undefined;
  #slotsInUse = 0;

  constructor(options: JobFetcherOptions) {
    this.#options = options;
    options.stopped.addEventListener('abort', () => this.#onSlotFree(), { once: true });
  }

  /** Fetches jobs until the stop. */
  async run(source: JobSource): Promise<void> {
    const { jobsMax, mayFetch, stopped } = this.#options;
    let fetchesWithJob = 0;
    let wasEmpty = false;
    while (!stopped.aborted) {
      if (!mayFetch()) {
        await pause(NOT_NOW_MS, stopped);
        continue;
      }
      const free = jobsMax - this.#slotsInUse;
      if (free <= 0) {
        await new Promise<void>((resolve) => (this.#onSlotFree = resolve));
        continue;
      }
      // Each fetch may bring a full batch. So the jobs exceed the slots by less than one batch.
      const isBusy = fetchesWithJob >= BUSY_AFTER;
      const fetches = isBusy ? Math.min(FETCHES_AT_ONCE, Math.ceil(free / BATCH_MAX)) : 1;
      const gotJob = await Promise.all(Array.from({ length: fetches }, () => this.#fetch(source)));
      fetchesWithJob = gotJob.every(Boolean) ? fetchesWithJob + 1 : 0;
      const isEmpty = !gotJob.includes(true);
      if (isEmpty && wasEmpty) await pause(EMPTY_PAUSE_MS, stopped);
      wasEmpty = isEmpty;
    }
  }

  /** After the stop: resolves when no handler is running. */
  async untilHandled(): Promise<void> {
    await Promise.all(this.#handling);
  }

  /** After the stop: resolves when all handled jobs are completed in the queue, too. */
  async untilCompleted(): Promise<void> {
    await Promise.all(this.#completing);
  }

  /** @returns whether it got a job. After a failure it pauses first. */
  async #fetch(source: JobSource): Promise<boolean> {
    const { mayFetch, stopped, onError } = this.#options;
    const token = randomUUID();
    try {
      const job = await source.getNextJob(token);
      if (job === undefined) return false;
      if (!stopped.aborted && mayFetch()) this.#start(job, token);
      else await job.moveToWait(token); // if this fails, its lock expires
      return true;
    } catch (error) {
      if (stopped.aborted) return false; // the stop closes connections
      onError(error as Error);
      await pause(RETRY_MS, stopped);
      return false;
    }
  }

  /** Starts the jobs that a BullMQ job carries, and completes it after the last one. */
  #start(job: Job, token: string): void {
    const handled = Promise.all(this.#options.start(job.data).map((work) => this.#inSlot(work)));
    const completed = handled.then(() => this.#complete(job, token));
    keepUntilSettled(this.#handling, handled);
    keepUntilSettled(this.#completing, completed);
  }

  async #inSlot(work: Promise<void>): Promise<void> {
    this.#slotsInUse += 1;
    await work.catch((error: unknown) => this.#options.onError(error as Error));
    this.#slotsInUse -= 1;
    this.#onSlotFree();
  }

  async #complete(job: Job, token: string): Promise<void> {
    const { stopped, onError } = this.#options;
    for (let tries = 1; tries <= COMPLETE_TRIES; tries += 1) {
      try {
        await job.moveToCompleted(undefined, token, false);
        return;
      } catch (error) {
        // The job was removed, or another worker has it because the lock expired. The row in Postgres
        // decides.
        if (isNoLongerOurs(error) || stopped.aborted) return;
        onError(error as Error);
        await pause(RETRY_MS, stopped);
      }
    }
  }
}

function keepUntilSettled(set: Set<Promise<unknown>>, promise: Promise<unknown>): void {
  set.add(promise);
  void promise.finally(() => set.delete(promise));
}

/** BullMQ's scripts return negative codes: the job does not exist, or another worker has its lock. */
function isNoLongerOurs(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'number' && code < 0;
}

/** Waits. Resolves early when `stopped` is aborted. */
export async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: stopped }).catch(() => undefined);
}
