import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Job } from 'bullmq';
import type { JobJson } from 'bullmq';

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

/** BullMQ's answer to a completed job: the next job, if there is one. */
type NextJob = readonly [data?: JobJson | null, id?: string];

/**
 * Fetches at once, while every answer brings a job: 1, 1, 2, 4, 8, 16. After a single job there is often
 * none, so the number doubles from the second job on.
 */
const FETCHES_MAX = 16;
/** Pause after the queue could not be reached. */
const RETRY_MS = 1_000;
/**
 * BullMQ first answers "none" at once, and waits in the next fetch. It may keep answering at once: while
 * another tool limits the queue's rate, or just after delayed jobs were added. Then fetches are paced.
 */
const INSTANT_ANSWER_MS = 1;
const UNPACED_EMPTY_FETCHES = 3;
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
  /** Running handlers; and those together with the completion of their BullMQ job. */
  readonly #handling = new Set<Promise<unknown>>();
  readonly #completing = new Set<Promise<void>>();
  /** Runs when a slot becomes free, or at the stop. */
  #onSlotFree: (() => void) | null = null;
  #slotsInUse = 0;
  #fetchesAtOnce = 1;
  /** Expected jobs per BullMQ job: the recent maximum, one less with each smaller one. */
  #expectedSize = 1;
  /** Consecutive answers that brought all jobs asked for. */
  #fullAnswers = 0;

  constructor(options: JobFetcherOptions) {
    this.#options = options;
    options.stopped.addEventListener('abort', () => this.#onSlotFree?.(), { once: true });
  }

  /** Fetches jobs until the stop. */
  async run(source: JobSource): Promise<void> {
    const { slots, stopped } = this.#options;
    let instantEmptyAnswers = 0;
    while (!stopped.aborted) {
      if (this.#slotsInUse >= slots) {
        await this.#untilSlotFree();
        continue;
      }
      const asked = Math.min(
        this.#fetchesAtOnce,
        Math.max(1, Math.floor((slots - this.#slotsInUse) / this.#expectedSize)),
      );
      const askedAt = performance.now();
      const came = await Promise.all(Array.from({ length: asked }, () => this.#fetch(source)));
      this.#fullAnswers = came.every((each) => each === 'job') ? this.#fullAnswers + 1 : 0;
      this.#fetchesAtOnce = Math.min(2 ** Math.max(0, this.#fullAnswers - 1), FETCHES_MAX);
      if (came.includes('failed') && !came.includes('job')) await pause(RETRY_MS, stopped);
      const isInstantEmpty = !came.includes('job') && performance.now() - askedAt < INSTANT_ANSWER_MS;
      instantEmptyAnswers = isInstantEmpty ? instantEmptyAnswers + 1 : 0;
      if (instantEmptyAnswers > UNPACED_EMPTY_FETCHES) await pause(EMPTY_FETCH_INTERVAL_MS, stopped);
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
      if (this.#mayStart()) this.#start(source, job, token);
      else await this.#returnToQueue(job, token);
      return 'job';
    } catch (error) {
      if (!stopped.aborted) onError(error as Error); // the stop closes connections
      return 'failed';
    }
  }

  /**
   * A fetched job starts while a slot is free. Otherwise it returns to the queue: the worker is stopping, or
   * larger jobs than expected took all slots.
   */
  #mayStart(): boolean {
    const { slots, stopped } = this.#options;
    return !stopped.aborted && this.#slotsInUse < slots;
  }

  #start(source: JobSource, job: Job, token: string): void {
    const ending = this.#handleAll(source, job, token).finally(() => void this.#completing.delete(ending));
    this.#completing.add(ending);
  }

  /** Handles one job, and then those that BullMQ returns when a job completes. */
  async #handleAll(source: JobSource, job: Job, token: string): Promise<void> {
    for (let next: Job | null = job; next !== null;) {
      await this.#handle(next);
      next = await this.#complete(source, next, token);
      this.#freeSlot();
      if (next !== null && !this.#mayStart()) {
        await this.#returnToQueue(next, token);
        return;
      }
    }
  }

  /** Each job frees its slot when it ends. The last one frees it after the BullMQ job is completed. */
  async #handle(job: Job): Promise<void> {
    const { start, onError } = this.#options;
    const parts = start(job.data);
    const slots = Math.max(1, parts.length);
    this.#expectedSize = Math.max(slots, this.#expectedSize - 1);
    this.#slotsInUse += slots;
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

  /** @returns the next job, if the queue is busy with single jobs and has one. */
  async #complete(source: JobSource, job: Job, token: string): Promise<Job | null> {
    const { slots, stopped, onError } = this.#options;
    for (let tries = 1; tries <= COMPLETE_TRIES; tries += 1) {
      try {
        const busy = this.#fetchesAtOnce === FETCHES_MAX && this.#expectedSize === 1;
        const fetchNext = busy && this.#slotsInUse <= slots && !stopped.aborted;
        const answer: unknown = await job.moveToCompleted(undefined, token, fetchNext);
        const [data, id] = Array.isArray(answer) ? (answer as unknown as NextJob) : [];
        return data ? Job.fromJSON(source as unknown as Parameters<typeof Job.fromJSON>[0], data, id) : null;
      } catch (error) {
        // The job was removed, or another worker has it because the lock expired. The row in Postgres
        // decides.
        if (isNoLongerOurs(error) || stopped.aborted) return null;
        onError(error as Error);
        await pause(RETRY_MS, stopped);
      }
    }
    return null;
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
