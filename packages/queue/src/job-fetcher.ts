import { randomUUID } from 'node:crypto';
import { pause } from '@postrider/limits';
import type { Job } from 'bullmq';
import { BATCH_MAX } from './batches.ts';

/** The part of BullMQ's worker that fetches. Both back-ends have it. */
export interface JobSource {
  /** Waits for a job if the last fetch found none. Undefined: still none, or the worker is paused. */
  getNextJob(token: string): Promise<Job | undefined>;
}

export interface JobFetcherOptions {
  /** Slots for jobs of ours. A BullMQ job starts when one is free, and may carry more jobs than are free. */
  readonly jobsMax: number;
  /** Starts the jobs that a BullMQ job carries. Each holds a slot until it settles. Empty: not our data. */
  readonly start: (data: unknown) => readonly Promise<void>[];
  /** False: fetches no jobs, and puts back a job that a waiting fetch brings. */
  readonly mayFetch: () => boolean;
  readonly stopped: AbortSignal;
  readonly onError: (error: Error) => void;
}

/** Concurrent fetches while the queue is busy. */
const BUSY_FETCHES = 4;
/** The queue is busy: each fetch of two rounds brought a job. After a lone job it is often empty. */
const BUSY_AFTER_ROUNDS = 2;
/** Pause before the loop asks `mayFetch` again. */
const NOT_NOW_MS = 100;
/** Pause after the queue could not be reached. */
const RETRY_MS = 1_000;
/**
 * After a job, BullMQ answers twice that the queue is empty, and waits for the next job in the third round.
 * While another tool limits the queue's rate, BullMQ never waits. Then only the pause slows this loop.
 */
const EMPTY_ROUNDS_BEFORE_PAUSE = 2;
/** Pause after each further empty round. */
const EMPTY_PAUSE_MS = 5;

/**
 * Fetches jobs, as many as there are slots, and starts each when it arrives. BullMQ's own loop starts none
 * before a fetch finds the queue empty (decision 0011).
 *
 * Locks are not renewed. They usually outlast the work; if not, the row in Postgres decides who may end it.
 */
export class JobFetcher {
  readonly #options: JobFetcherOptions;
  /** BullMQ jobs that are not completed yet. */
  readonly #completing = new Set<Promise<void>>();
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
    let busyRounds = 0;
    let emptyRounds = 0;
    while (!stopped.aborted) {
      if (!mayFetch()) {
        await pause(NOT_NOW_MS, stopped);
        continue;
      }
      const free = jobsMax - this.#slotsInUse;
      if (free <= 0) {
        await this.#slotFree();
        continue;
      }
      // Each fetch may bring a full batch. So the jobs exceed the slots by less than one batch.
      const fetches =
        busyRounds < BUSY_AFTER_ROUNDS ? 1 : Math.min(BUSY_FETCHES, Math.ceil(free / BATCH_MAX));
      const gotJob = await Promise.all(Array.from({ length: fetches }, () => this.#fetch(source)));
      busyRounds = gotJob.every(Boolean) ? busyRounds + 1 : 0;
      emptyRounds = gotJob.includes(true) ? 0 : emptyRounds + 1;
      if (emptyRounds > EMPTY_ROUNDS_BEFORE_PAUSE) await pause(EMPTY_PAUSE_MS, stopped);
    }
  }

  /** After the stop: resolves when no handler is running. */
  async untilHandled(): Promise<void> {
    while (this.#slotsInUse > 0) await this.#slotFree();
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
    this.#completing.add(completed);
    void completed.finally(() => this.#completing.delete(completed));
  }

  async #inSlot(work: Promise<void>): Promise<void> {
    this.#slotsInUse += 1;
    await work.catch((error: unknown) => this.#options.onError(error as Error));
    this.#slotsInUse -= 1;
    this.#onSlotFree();
  }

  /** One caller at a time may wait: the loop, and after the abort the stop. */
  #slotFree(): Promise<void> {
    return new Promise((resolve) => (this.#onSlotFree = resolve));
  }

  /** If this fails, the job's lock expires, and the job comes back. Then its row says that it is done. */
  async #complete(job: Job, token: string): Promise<void> {
    const { stopped, onError } = this.#options;
    try {
      await job.moveToCompleted(undefined, token, false);
    } catch (error) {
      if (!isNoLongerOurs(error) && !stopped.aborted) onError(error as Error);
    }
  }
}

/**
 * BullMQ's scripts return negative codes: the job was removed, or its lock expired and another worker has it.
 */
function isNoLongerOurs(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'number' && code < 0;
}
