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
  readonly slots: number;
  /**
   * Starts the jobs that a BullMQ job carries. Each holds a slot until its promise resolves, and never
   * rejects for a failed delivery. An empty list means the data is not ours: the BullMQ job is completed at
   * once.
   */
  readonly start: (data: unknown) => readonly Promise<void>[];
  readonly stopped: AbortSignal;
  readonly onError: (error: Error) => void;
}

type Fetched = 'job' | 'none' | 'failed';

/** Fetches at once while the queue is busy. */
const FETCHES_AT_ONCE = 4;
/** The queue is busy when two fetches in a row brought a job. After a lone job there is often none. */
const BUSY_AFTER = 2;
/** Pause after the queue could not be reached. */
const RETRY_MS = 1_000;
/**
 * BullMQ first answers "none" at once, and waits in the next fetch. It may keep answering at once: while
 * another tool limits the queue's rate, or just after delayed jobs were added. Then fetches are paced.
 */
const INSTANT_ANSWER_MS = 1;
const EMPTY_FETCH_INTERVAL_MS = 5;
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
  /** Handlers that run. */
  readonly #handling = new Set<Promise<unknown>>();
  /** BullMQ jobs that are not completed yet, with their handlers. */
  readonly #completing = new Set<Promise<void>>();
  /** Runs when a slot becomes free, or at the stop. */
  #onSlotFree: (() => void) | null = null;
  #slotsInUse = 0;

  constructor(options: JobFetcherOptions) {
    this.#options = options;
    options.stopped.addEventListener('abort', () => this.#onSlotFree?.(), { once: true });
  }

  /** Fetches jobs until the stop. */
  async run(source: JobSource): Promise<void> {
    const { slots, stopped } = this.#options;
    let roundsWithJobs = 0;
    let wasEmptyAtOnce = false;
    while (!stopped.aborted) {
      const free = slots - this.#slotsInUse;
      if (free <= 0) {
        await this.#untilSlotFree();
        continue;
      }
      // Each fetch may bring a full batch. So the jobs exceed the slots by less than one batch.
      const fetches =
        roundsWithJobs < BUSY_AFTER ? 1 : Math.min(FETCHES_AT_ONCE, Math.ceil(free / BATCH_MAX));
      const askedAt = performance.now();
      const results = await Promise.all(Array.from({ length: fetches }, () => this.#fetch(source)));
      roundsWithJobs = results.every((each) => each === 'job') ? roundsWithJobs + 1 : 0;
      const isEmpty = !results.includes('job');
      if (isEmpty && results.includes('failed')) await pause(RETRY_MS, stopped);
      // BullMQ did not wait for a job. From the second such answer in a row on, fetches are paced.
      const isEmptyAtOnce = isEmpty && performance.now() - askedAt < INSTANT_ANSWER_MS;
      if (isEmptyAtOnce && wasEmptyAtOnce) await pause(EMPTY_FETCH_INTERVAL_MS, stopped);
      wasEmptyAtOnce = isEmptyAtOnce;
    }
  }

  /** Resolves when no handler is running. */
  async handled(): Promise<void> {
    while (this.#handling.size > 0) await Promise.all(this.#handling);
  }

  /** Resolves when all handled jobs are completed in the queue, too. */
  async completed(): Promise<void> {
    while (this.#completing.size > 0) await Promise.all(this.#completing);
  }

  async #fetch(source: JobSource): Promise<Fetched> {
    const { stopped, onError } = this.#options;
    const token = randomUUID();
    try {
      const job = await source.getNextJob(token);
      if (job === undefined) return 'none';
      if (stopped.aborted) await this.#returnToQueue(job, token);
      else this.#start(job, token);
      return 'job';
    } catch (error) {
      if (!stopped.aborted) onError(error as Error); // the stop closes connections
      return 'failed';
    }
  }

  #start(job: Job, token: string): void {
    const ending = this.#handle(job)
      .then(() => this.#complete(job, token))
      .finally(() => {
        this.#freeSlot();
        this.#completing.delete(ending);
      });
    this.#completing.add(ending);
  }

  /** Each job frees its slot when it ends. The last one frees it after the BullMQ job is completed. */
  async #handle(job: Job): Promise<void> {
    const { start, onError } = this.#options;
    const parts = start(job.data);
    this.#slotsInUse += Math.max(1, parts.length);
    let left = parts.length;
    const until = (part: Promise<void>): Promise<void> =>
      part
        .catch((error: unknown) => onError(error as Error))
        .finally(() => {
          left -= 1;
          if (left > 0) this.#freeSlot();
        });
    const working = Promise.all(parts.map(until)).finally(() => void this.#handling.delete(working));
    this.#handling.add(working);
    await working;
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

  async #returnToQueue(job: Job, token: string): Promise<void> {
    const { stopped, onError } = this.#options;
    await job.moveToWait(token).catch((error: unknown) => {
      if (!stopped.aborted) onError(error as Error); // its lock expires
    });
  }

  #freeSlot(): void {
    this.#slotsInUse -= 1;
    this.#onSlotFree?.();
  }

  async #untilSlotFree(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onSlotFree = resolve;
    });
    this.#onSlotFree = null;
  }
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
